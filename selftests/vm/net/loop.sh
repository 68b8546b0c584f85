#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# One rxe device on one dummy netdev, talking to itself: the cheapest way to
# run RDMA code. Packets never leave the device, so loss and link events do
# nothing here; use wire for those.

set -eu
. "$(dirname "$0")/common.sh"

up()
{
	load dummy
	rdma_load
	ip link add te0 type dummy
	ip link set te0 mtu "$mtu" up
	ip addr add "$addr_a/24" dev te0
	ip -6 addr add "$addr6_a/64" dev te0 nodad
	rdma_up "${type}_a" te0 "$addr_a"
	print_vars "$addr_a" "$addr_a" "${type}_a" "${type}_a"
}

down()
{
	rdma link delete "${type}_a"
	ip link delete te0
}

case ${1-} in
up|down) "$1" ;;
*)	echo "usage: $0 up|down" >&2; exit 2 ;;
esac
