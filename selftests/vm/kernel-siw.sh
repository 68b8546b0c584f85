#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# kernel-siw.sh 6.12: soft-iWARP for Debian's kernel, which comes without: its
# own source of siw, built against its headers. Prints the path of siw.ko.

set -eu
. "$(dirname "$0")/lib.sh"

[ "$1" = 6.12 ] || die "kernel-siw.sh: no source for $1"
release=$("$VM_DIR/kernel-stock.sh" release "$1")
out=$TE_BUILD/vm/siw-$release

build()
{
	local source
	[ ! -e "$out" ] || return 0
	source=$("$VM_DIR/kernel-source.sh")
	"$VM_DIR/packages.sh" build-essential
	log "building siw for $release, once"
	rm -rf "$out.part"
	cp -r "$source/drivers/infiniband/sw/siw" "$out.part"
	make -s -C "$("$VM_DIR/kernel-stock.sh" kdir "$1")" M="$out.part" \
		CONFIG_RDMA_SIW=m modules >&2
	mv -T "$out.part" "$out"
}

mkdir -p "$TE_BUILD/vm"
[ -e "$out" ] || with_lock "$TE_BUILD/vm/siw.lock" build "$1"
echo "$out/siw.ko"
