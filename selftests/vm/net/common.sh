# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034
#
# What the network scripts share. Each is `NAME.sh up|down`, needs root, works
# on bare metal as in a guest, and prints TE_ADDR_A, TE_ADDR_B, TE_DEV_A and
# TE_DEV_B as shell assignments after `up`. Sourced, never run.

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

# rxe_up NAME NETDEV ADDR: an rxe device, ready when the GID of ADDR is there;
# GIDs are filled in by a worker some time after the address.
rxe_up()
{
	local gid try
	rdma link add "$1" type rxe netdev "$2"
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
}
