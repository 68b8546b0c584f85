#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# This machine's end of a wire to another machine: an rxe device on one netdev.
# TE_NODE (a or b) says which end, TE_NETDEV which netdev (eth0). Returns when
# the other end answers.

set -eu
. "$(dirname "$0")/common.sh"

netdev=${TE_NETDEV:-eth0}
if [ "${TE_NODE:-a}" = a ]; then
	mine=$addr_a mine6=$addr6_a theirs=$addr_b
else
	mine=$addr_b mine6=$addr6_b theirs=$addr_a
fi

# ping_peer SECONDS
ping_peer()
{
	local end=$((SECONDS + $1))
	until ping -q -c 1 -W 1 "$theirs" >&2; do
		[ "$SECONDS" -lt "$end" ] || {
			echo "no answer from $theirs" >&2
			return 1
		}
		sleep 0.2
	done
}

up()
{
	load virtio_net
	rdma_load
	ip link set "$netdev" mtu "$mtu" up
	ip addr add "$mine/24" dev "$netdev"
	ip -6 addr add "$mine6/64" dev "$netdev" nodad
	rdma_up "${type}_${TE_NODE:-a}" "$netdev" "$mine"
	# the other guest may boot a minute later on a busy machine
	ping_peer 120
	print_vars "$addr_a" "$addr_b" "${type}_a" "${type}_b"
}

down()
{
	rdma link delete "${type}_${TE_NODE:-a}"
	ip addr flush dev "$netdev"
	ip link set "$netdev" down
}

case ${1-} in
up|down) "$1" ;;
*)	echo "usage: $0 up|down" >&2; exit 2 ;;
esac
