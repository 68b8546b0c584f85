#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# kernel.sh: the kernels te is built for and tested on. Makes what is asked for
# exist, then prints one path (or word) on stdout; progress goes to stderr.
#
#   kernel.sh kdir    um|6.12|6.1   build tree for modules (KDIR)
#   kernel.sh arch    um|6.12|6.1   what to pass as ARCH= with that tree
#   kernel.sh image   um|6.12|6.1   what boots
#   kernel.sh modules    6.12|6.1   modules folder that goes with the image
#   kernel.sh release    6.12|6.1   its `uname -r`
#   kernel.sh source                unpacked linux-source-6.12

set -eu
. "$(dirname "$0")/lib.sh"

usage()
{
	die "usage: kernel.sh kdir|arch|image|modules|release um|6.12|6.1, or source"
}

case ${1-}:${2-} in
source:)	exec "$VM_DIR/kernel-source.sh" ;;
kdir:um)	echo "$("$VM_DIR/kernel-um.sh")/kdir" ;;
image:um)	echo "$("$VM_DIR/kernel-um.sh")/linux" ;;
arch:um)	echo um ;;
arch:6.12 | arch:6.1)
		echo x86_64 ;;
kdir:6.12 | kdir:6.1 | image:6.12 | image:6.1 | modules:6.12 | modules:6.1 | \
release:6.12 | release:6.1)
		exec "$VM_DIR/kernel-stock.sh" "$1" "$2" ;;
*)		usage ;;
esac
