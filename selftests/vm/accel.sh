#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# accel.sh: prints kvm if a guest boots with it, else tcg. /dev/kvm may exist
# and yet assert or hang, so a short boot decides, once per boot of the machine.

set -eu
. "$(dirname "$0")/lib.sh"

cache=$TE_BUILD/vm/accel-$(cat /proc/sys/kernel/random/boot_id)
patience=8	# seconds; with a working KVM user space is there after one or two

probe()
{
	local said=''
	if [ -w /dev/kvm ]; then
		said=$(timeout -k 1 "$patience" qemu-system-x86_64 \
			-accel kvm -cpu host -m 256 -nodefaults -display none \
			-no-reboot -serial stdio \
			-kernel "$("$VM_DIR/kernel.sh" image 6.12)" \
			-initrd "$("$VM_DIR/initramfs.sh" 6.12)" \
			-append "console=ttyS0 panic=-1 te_probe=1" \
			</dev/null 2>&1) || true
	fi
	rm -f "$TE_BUILD"/vm/accel-*
	case $said in
	*"te: probe boot reached user space"*) echo kvm >"$cache" ;;
	*)	echo tcg >"$cache" ;;
	esac
	log "guests run with $(cat "$cache")"
}

mkdir -p "$TE_BUILD/vm"
[ -s "$cache" ] || with_lock "$TE_BUILD/vm/accel.lock" probe
cat "$cache"
