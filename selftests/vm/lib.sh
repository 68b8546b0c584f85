# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034
#
# What every script in this folder needs to know: where the tree is, where
# things are kept, and how to talk. Sourced, never run.
#
# TE_BUILD  build/ in the tree; git ignores it, `make clean` removes it
# TE_CACHE  what is too dear to build twice; survives the tree

VM_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TE_ROOT=$(cd "$VM_DIR/../.." && pwd)
TE_BUILD=$TE_ROOT/build
TE_CACHE=${TE_CACHE:-$HOME/.cache/te}

# Progress goes to stderr: stdout belongs to whoever asked.
log()
{
	echo "vm: $*" >&2
}

die()
{
	log "$*"
	exit 1
}

# with_lock FILE CMD...: one at a time per FILE, so that two runs that lack the
# same thing make it once. CMD does not inherit the lock. No `||` anywhere near:
# it would switch `set -e` off inside CMD.
with_lock()
{
	local file=$1 fd
	shift
	mkdir -p "$(dirname "$file")"
	exec {fd}>"$file"
	flock -n "$fd" || { log "waiting for $file"; flock "$fd"; }
	"$@" {fd}>&-
	exec {fd}>&-
}
