#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2154 # te_* come from the kernel command line
#
# init of a QEMU guest, run by busybox from the initramfs. Mounts the host's
# root read-only over 9p, an overlay with a tmpfs upper over that, the tree's
# build/ writable inside, makes it the root and goes on with guest.sh. te_* come
# from the kernel's command line.

set -eu
export PATH=/bin

mount -t devtmpfs dev /dev
if [ -n "${te_probe-}" ]; then
	echo "te: probe boot reached user space" >/dev/ttyS0
	exec reboot -f
fi

while read -r module; do
	insmod "$module"
done </modules/order

p9=trans=virtio,version=9p2000.L,msize=512000
mkdir -p /host /rw /newroot
mount -t 9p -o "ro,cache=loose,$p9" root /host
mount -t tmpfs -o size=75% rw /rw
mkdir /rw/upper /rw/work
mount -t overlay overlay /newroot \
	-o lowerdir=/host,upperdir=/rw/upper,workdir=/rw/work
# Two guests may write here at once: no caching beyond what mmap needs.
mount -t 9p -o "rw,cache=mmap,$p9" build "/newroot$te_build"
mount --move /dev /newroot/dev
exec switch_root /newroot /bin/bash "$te_vm/guest/guest.sh"
