#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# kernel-source.sh: make sure that Debian's linux-source-6.12 is unpacked and
# print where. Kept outside the tree: it is 1.6 GB and the same for every clone.

set -eu
. "$(dirname "$0")/lib.sh"

"$VM_DIR/packages.sh" linux-source-6.12 xz-utils
version=$(dpkg-query -W -f '${Version}' linux-source-6.12)
out=$TE_CACHE/linux-source-${version//[~:]/_}

unpack()
{
	[ ! -e "$out" ] || return 0
	log "unpacking linux-source-6.12 $version, once"
	rm -rf "$out.part"
	mkdir -p "$out.part"
	tar -x -C "$out.part" --strip-components=1 \
		-f /usr/src/linux-source-6.12.tar.xz
	mv -T "$out.part" "$out"
}

[ -e "$out" ] || with_lock "$TE_CACHE/source.lock" unpack
echo "$out"
