#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# initramfs.sh NAME: makes the few MB that bring a QEMU guest to its real root
# (busybox, a stock kernel's modules for 9p and overlay, guest/init-qemu.sh) and
# prints the file's path.

set -eu
. "$(dirname "$0")/lib.sh"

init=$VM_DIR/guest/init-qemu.sh
busybox=/bin/busybox

# The modules of the guest's root, each with what it needs, in loading order.
copy_modules()
{
	local wanted name path
	for wanted in virtio_pci 9p 9pnet_virtio overlay; do
		modprobe -S "$release" -d "$image_dir" --show-depends "$wanted"
	done | while read -r verb path _; do
		[ "$verb" = insmod ] || continue
		name=${path##*/} name=${name%%.ko*}.ko
		[ ! -e "$1/$name" ] || continue
		case $path in
		*.xz)	xz -dc "$path" >"$1/$name" ;;
		*)	cp "$path" "$1/$name" ;;
		esac
		echo "/modules/$name" >>"$1/order"
	done
}

pack()
{
	local root=$out.part.d applet
	rm -rf "$root"
	mkdir -p "$root/bin" "$root/modules"
	cp "$busybox" "$root/bin/busybox"
	for applet in sh mount mkdir insmod reboot switch_root; do
		ln -s busybox "$root/bin/$applet"
	done
	cp "$init" "$root/init"
	: >"$root/modules/order"
	[ -z "$release" ] || copy_modules "$root/modules"
	(cd "$root" && find . | cpio -o -H newc --quiet) >"$out.part"
	rm -rf "$root"
	mv "$out.part" "$out"
}

"$VM_DIR/packages.sh" busybox-static cpio kmod xz-utils
case $1 in
6.*)
	release=$("$VM_DIR/kernel.sh" release "$1")
	image_dir=$("$VM_DIR/kernel.sh" modules "$1")
	image_dir=${image_dir%/lib/modules/*}
	out=$image_dir/te-initramfs
	;;
*)
	release=''
	mkdir -p "$TE_BUILD/vm"
	out=$TE_BUILD/vm/initramfs-own
	;;
esac
{ [ "$out" -nt "$init" ] && [ "$out" -nt "$0" ]; } ||
	with_lock "$out.lock" pack
echo "$out"
