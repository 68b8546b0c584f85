#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# kernel-stock.sh kdir|image|modules|release 6.12|6.1: Debian's own kernels.
# Headers are installed as packages; the image of exactly the same version is
# only unpacked under build/, so the machine's boot menu stays as it is.

set -eu
. "$(dirname "$0")/lib.sh"

what=$1 series=$2
case $series in
6.12)	meta=linux-headers-6.12-amd64 ;;
6.1)	meta=linux-headers-amd64 ;;
*)	die "kernel-stock.sh: no kernel $series" ;;
esac

# Sets release (uname -r) and version (of the package) by what the headers
# metapackage depends on: "linux-headers-6.1.0-57-amd64 (= 6.1.192-3)".
find_headers()
{
	local depends
	"$VM_DIR/packages.sh" "$meta"
	depends=$(dpkg-query -W -f '${Depends}' "$meta")
	[[ $depends =~ linux-headers-([^\ ,]+)\ \(=\ ([^\)]+)\) ]] ||
		die "$meta depends on '$depends', not on one version"
	release=${BASH_REMATCH[1]}
	version=${BASH_REMATCH[2]}
	[[ $release == "$series".* ]] || die "$meta is $release, not $series"
}

download()
{
	(
		cd "$1"
		apt-get download -q -o APT::Sandbox::User="$(id -un)" "linux-image-$release=$version" >&2
	)
}

# The archive keeps only the newest version: when the headers are older than
# that, both have to move on.
fetch()
{
	download "$1" && return
	[ "$(id -u)" = 0 ] || die "no image $version to download, please upgrade $meta"
	log "linux-image-$release $version is not to be had, refreshing"
	apt-get update -q >&2
	download "$1" && return
	DEBIAN_FRONTEND=noninteractive apt-get install -y -q \
		--no-install-recommends "$meta" >&2
	find_headers
	download "$1"
}

unpack()
{
	local part=$TE_BUILD/vm/image-$series.part
	[ ! -e "$TE_BUILD/vm/image-$version" ] || return 0
	"$VM_DIR/packages.sh" kmod
	log "unpacking linux-image-$release $version, once"
	rm -rf "$part"
	mkdir -p "$part"
	fetch "$part"
	dpkg -x "$part"/*.deb "$part"
	rm "$part"/*.deb
	depmod -b "$part" "$release"
	mv -T "$part" "$TE_BUILD/vm/image-$version"
}

find_headers
case $what in
kdir)	echo "/usr/src/linux-headers-$release"; exit ;;
release) echo "$release"; exit ;;
esac

[ -e "$TE_BUILD/vm/image-$version" ] ||
	with_lock "$TE_BUILD/vm/image-$series.lock" unpack
# fetch() may have moved on to a newer version
find_headers
case $what in
image)	echo "$TE_BUILD/vm/image-$version/boot/vmlinuz-$release" ;;
modules) echo "$TE_BUILD/vm/image-$version/lib/modules/$release" ;;
*)	die "kernel-stock.sh: no such thing as $what" ;;
esac
