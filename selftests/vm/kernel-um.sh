#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# kernel-um.sh: make sure that User Mode Linux is built and print its cache
# folder, which holds `linux` (the bootable program) and `kdir/` (just enough
# tree to build modules against). It takes about 8 CPU-minutes, so it is kept
# outside the tree, by source version and by what config/um.config asks for.
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

fragment=$VM_DIR/config/um.config
src=$("$VM_DIR/kernel-source.sh")
settings=$(grep -E '^(CONFIG_|# CONFIG_.* is not set)' "$fragment")
hash=$(sha256sum <<<"$settings $fp_bytes" | cut -c1-12)
out=$TE_CACHE/um-${src##*-source-}-$hash
part=$out.part

um_make()
{
	make -s -C "$part/src" O="$part/o" ARCH=um -j"$(nproc)" \
		KBUILD_BUILD_USER=te KBUILD_BUILD_HOST=te "$@" >&2
}

# The source is shared with others: change a copy, made of hard links.
adapt_source()
{
	local file=$part/src/arch/x86/um/user-offsets.c
	cp -al "$src" "$part/src"
	sed -i "s/(HOST_FP_SIZE, 2696)/(HOST_FP_SIZE, $fp_bytes)/" "$file"
	grep -q "(HOST_FP_SIZE, $fp_bytes)" "$file" ||
		die "$file is not as expected"
}

# Every line of the fragment must survive olddefconfig: a symbol that is gone
# silently would only be missed when a test needs it.
configure()
{
	local line bad=0
	um_make tinyconfig
	echo "$settings" >>"$part/o/.config"
	um_make olddefconfig 2>/dev/null
	while read -r line; do
		case $line in
		'# '*)	line=${line#\# } line=${line%% *}
			grep -q "^$line=" "$part/o/.config" || continue ;;
		*)	grep -qxF "$line" "$part/o/.config" && continue ;;
		esac
		log "um.config: $line did not survive"
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
		srctree=$part/src SRCARCH=um CC=gcc HOSTCC=gcc MAKE=make \
			sh "$part/src/scripts/package/install-extmod-build" \
			"$part/kdir" >&2
	)
	(
		cd "$part/src"
		find arch/x86 arch/um -name 'Makefile*' -o -name 'Kbuild*'
		find arch/x86/include arch/x86/um arch/um -name '*.h'
	) | sort -u | tar -c -C "$part/src" -T - | tar -x -C "$part/kdir"
	cp -r "$part/o/arch/x86" "$part/kdir/arch/" 2>/dev/null || true
	cp "$part/o/.config" "$part/kdir/.config"
	cp "$part/o/linux" "$part/linux"
	strip --strip-debug "$part/linux"
	find "$part/kdir" \( -name '*.o' -o -name '.*.cmd' \) -delete
}

build()
{
	[ ! -e "$out/linux" ] || return 0
	"$VM_DIR/packages.sh" build-essential flex bison bc libelf-dev \
		libssl-dev cpio kmod
	rm -rf "$TE_CACHE"/um-*.part
	mkdir -p "$part/o"
	log "building User Mode Linux, about 8 CPU-minutes, once"
	adapt_source
	configure
	um_make linux modules
	slim
	rm -rf "$part/o" "$part/src"
	mv -T "$part" "$out"
}

[ -e "$out/linux" ] || with_lock "$TE_CACHE/um.lock" build
echo "$out"
