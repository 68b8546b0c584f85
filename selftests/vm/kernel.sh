#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# kernel.sh: the kernels te is built for and tested on. Makes what is asked for
# exist, then prints one path (or word) on stdout; progress goes to stderr.
#
#   kernel.sh kdir NAME      build tree for modules (KDIR)
#   kernel.sh arch NAME      what to pass as ARCH= with that tree
#   kernel.sh flags NAME     what else make wants: test code of te, coverage
#   kernel.sh image NAME     what boots
#   kernel.sh modules NAME   stock only: modules folder that goes with the image
#   kernel.sh release NAME   stock only: its `uname -r`
#   kernel.sh siw NAME       6.12 only: siw.ko, which it comes without
#   kernel.sh source         unpacked linux-source-6.12
#
# NAME: 6.12 6.1 (stock), um um-kasan kasan kcsan (our own, see config/)

set -eu
. "$(dirname "$0")/lib.sh"

usage()
{
	die "usage: kernel.sh kdir|arch|flags|image|modules|release|siw NAME, or source"
}

case ${1-}:${2-} in
source:)	exec "$VM_DIR/kernel-source.sh" ;;
kdir:um | kdir:um-kasan | kdir:kasan | kdir:kcsan | \
image:um | image:um-kasan | image:kasan | image:kcsan)
		dir=$("$VM_DIR/kernel-own.sh" "$2")
		echo "$dir/$1" ;;
arch:um | arch:um-kasan)
		echo um ;;
arch:6.12 | arch:6.1 | arch:kasan | arch:kcsan)
		echo x86_64 ;;
flags:um-kasan)	echo CONFIG_TE_TEST=y CONFIG_TE_COVERAGE=y ;;
flags:kasan | flags:kcsan)
		echo CONFIG_TE_TEST=y ;;
flags:um | flags:6.12 | flags:6.1)
		;;
kdir:6.12 | kdir:6.1 | image:6.12 | image:6.1 | modules:6.12 | modules:6.1 | \
release:6.12 | release:6.1)
		exec "$VM_DIR/kernel-stock.sh" "$1" "$2" ;;
siw:6.12)	exec "$VM_DIR/kernel-siw.sh" "$2" ;;
*)		usage ;;
esac
