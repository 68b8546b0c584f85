#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# kernel-own.sh um|um-kasan|kasan|kcsan: make sure that this kernel of our own is
# built from linux-source-6.12 and print its cache folder, which holds `image`
# (what boots) and `kdir/` (just enough tree to build modules against). A build
# takes 8 to 20 CPU-minutes, so it is kept outside the tree, by source version
# and by what the fragments in config/ ask for.
#
# The folder appears by one rename when everything in it is ready: a build that
# was interrupted leaves only a *.part folder, which the next one replaces.

set -eu
. "$(dirname "$0")/lib.sh"

# UML 6.12 keeps a thread's FPU state in a fixed 2696 bytes, enough for AVX-512.
# Where the host's CPU has AMX its ptrace wants all of 11008 and init dies with
# "ptrace set fp regs failed". One copy lies on the kernel stack and one more in
# signal handlers, hence KERNEL_STACK_ORDER. (Linux 6.13 asks the host.)
fp_bytes=12288

# What rxe cannot place in its sequence, such as an answer to a READ that it has
# since repeated, ends at COMPST_ERROR with no status set: rxe warns and then
# completes with success what holds wrong bytes. Here it completes with an error
# as on an adapter. (Stock kernels keep the fault.)
rxe_warns='WARN_ON_ONCE(wqe->status == IB_WC_SUCCESS);'
rxe_fails='if (wqe->status == IB_WC_SUCCESS) wqe->status = IB_WC_GENERAL_ERR;'

name=${1-}
case $name in
um)	  arch=um minutes=8 fragments=(common um) ;;
um-kasan) arch=um minutes=15 fragments=(common um debug um-kasan) ;;
kasan)	  arch=x86 minutes=20 fragments=(common qemu debug kasan) ;;
kcsan)	  arch=x86 minutes=14 fragments=(common qemu kcsan) ;;
*)	  die "kernel-own.sh: no kernel $name" ;;
esac
case $arch in
um)	target=linux image=linux ;;
x86)	target=bzImage image=arch/x86/boot/bzImage ;;
esac

src=$("$VM_DIR/kernel-source.sh")
fragments=("${fragments[@]/#/$VM_DIR/config/}")
settings=$(grep -hE '^(CONFIG_|# CONFIG_.* is not set)' \
	"${fragments[@]/%/.config}")
hash=$(sha256sum <<<"$settings $fp_bytes $rxe_fails" | cut -c1-12)
out=$TE_CACHE/$name-${src##*-source-}-$hash
part=$out.part

kernel_make()
{
	make -s -C "$part/src" O="$part/o" ARCH="$arch" -j"$(nproc)" \
		KBUILD_BUILD_USER=te KBUILD_BUILD_HOST=te "$@" >&2
}

# replace FILE OLD NEW: OLD, which holds no character that sed minds, is there
# once.
replace()
{
	local file=$part/src/$1
	[ "$(grep -cF "$2" "$file")" = 1 ] || die "$file is not as expected"
	sed -i "s/$2/$3/" "$file"
	grep -qF "$3" "$file" || die "$file did not change"
}

# The source is shared with others: change a copy, made of hard links.
adapt_source()
{
	cp -al "$src" "$part/src"
	replace arch/x86/um/user-offsets.c \
		"(HOST_FP_SIZE, 2696)" "(HOST_FP_SIZE, $fp_bytes)"
	replace drivers/infiniband/sw/rxe/rxe_comp.c "$rxe_warns" "$rxe_fails"
}

# Every line of the fragments must survive olddefconfig: a symbol that is gone
# silently would only be missed when a test needs it.
configure()
{
	local line bad=0
	kernel_make tinyconfig
	echo "$settings" >>"$part/o/.config"
	kernel_make olddefconfig 2>/dev/null
	while read -r line; do
		case $line in
		'# '*)	line=${line#\# } line=${line%% *}
			grep -q "^$line=" "$part/o/.config" || continue ;;
		*)	grep -qxF "$line" "$part/o/.config" && continue ;;
		esac
		log "$name: $line did not survive"
		bad=1
	done <<<"$settings"
	return "$bad"
}

# The kernel's own script picks what module builds need, but it knows only one
# arch folder: UML's headers and makefiles lean on arch/x86 as well.
slim()
{
	(
		cd "$part/o"
		srctree=$part/src SRCARCH=$arch CC=gcc HOSTCC=gcc MAKE=make \
			sh "$part/src/scripts/package/install-extmod-build" \
			"$part/kdir" >&2
	)
	if [ "$arch" = um ]; then
		(
			cd "$part/src"
			find arch/x86 arch/um -name 'Makefile*' -o -name 'Kbuild*'
			find arch/x86/include arch/x86/um arch/um -name '*.h'
		) | sort -u | tar -c -C "$part/src" -T - | tar -x -C "$part/kdir"
		cp -r "$part/o/arch/x86" "$part/kdir/arch/" 2>/dev/null || true
	fi
	cp "$part/o/.config" "$part/kdir/.config"
	cp "$part/o/$image" "$part/image"
	[ "$arch" != um ] || strip --strip-debug "$part/image"
	find "$part/kdir" \( -name '*.o' -o -name '.*.cmd' \) -delete
}

build()
{
	[ ! -e "$out/image" ] || return 0
	"$VM_DIR/packages.sh" build-essential flex bison bc libelf-dev \
		libssl-dev cpio kmod
	rm -rf "$TE_CACHE/$name"-[0-9]*.part
	mkdir -p "$part/o"
	log "building the kernel $name, about $minutes CPU-minutes, once"
	adapt_source
	configure
	# instrumented frames are large, and none of ours
	kernel_make KCFLAGS=-Wno-frame-larger-than "$target" modules
	slim
	rm -rf "$part/o" "$part/src"
	mv -T "$part" "$out"
}

[ -e "$out/image" ] || with_lock "$TE_CACHE/$name.lock" build
echo "$out"
