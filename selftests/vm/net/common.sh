# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034
#
# What the network scripts share. Each is `NAME.sh up|down`, needs root, works
# on bare metal as in a guest, and prints TE_ADDR_A, TE_ADDR_B, TE_DEV_A,
# TE_DEV_B and TE_DEV_TYPE as shell assignments after `up`. Sourced, never run.
#
# TE_DEV_TYPE, if it is set before, says which devices: rxe, or siw.

type=${TE_DEV_TYPE:-rxe}
addr_a=10.77.0.1	addr_b=10.77.0.2
addr6_a=fd77::1		addr6_b=fd77::2
mtu=9000		# rxe's path MTU becomes 4096: 1.4 to 2.4 times 1500's speed

# Both may be built in: what is really missing shows a line later.
load()
{
	modprobe -qa "$@" 2>/dev/null || true
}

set_sysctl()
{
	echo "$2" >"/proc/sys/${1}"
}

# The driver of the devices. TE_SIW: a siw.ko for a kernel that comes without.
rdma_load()
{
	case $type:${TE_SIW-} in
	rxe:*)	load rdma_rxe ;;
	siw:)	load siw ;;
	*)	# shellcheck disable=SC2046 # several words
		load crc32c $(modinfo -F depends "$TE_SIW" | tr , ' ')
		insmod "$TE_SIW" ;;
	esac
}

# rdma_up NAME NETDEV ADDR: an RDMA device, ready for who binds ADDR. GIDs of rxe
# are filled in by a worker some time after the address.
rdma_up()
{
	local gid try
	rdma link add "$1" type "$type" netdev "$2"
	[ "$type" = rxe ] || return 0
	# shellcheck disable=SC2046,SC2183 # four words wanted
	gid=$(printf '%02x%02x:%02x%02x' $(tr . ' ' <<<"$3"))
	for ((try = 0; try < 100; try++)); do
		grep -qs "ffff:$gid" "/sys/class/infiniband/$1/ports/1/gids/"* &&
			return
		sleep 0.1
	done
	echo "$1 has no GID for $3" >&2
	return 1
}

# print_vars ADDR_A ADDR_B DEV_A DEV_B
print_vars()
{
	printf 'TE_ADDR_A=%s\nTE_ADDR_B=%s\nTE_DEV_A=%s\nTE_DEV_B=%s\n' "$@"
	printf 'TE_DEV_TYPE=%s\n' "$type"
}
