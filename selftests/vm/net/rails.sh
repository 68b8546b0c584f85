#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Two wires in one kernel, each as in wire.sh: rxe_a and rxe_b on the ends va and
# vb of one, rxe_c and rxe_d on vc and vd of the other. So there are two ways
# between any two of them to fail one of. IPv4 only.
#
# After an address, a link or a device has changed, `rails.sh mend` brings back
# what is missing: links, addresses, routes, neighbours, devices; `rails.sh settled`
# waits until both wires can carry. Each end has a netem that does nothing until it
# is changed: rxe drops a packet for good, and the GSI QP with it, that is sent
# while a qdisc takes the place of another.

set -eu
. "$(dirname "$0")/common.sh"

addr_c=10.78.0.1 addr_d=10.78.0.2

# END PEER ADDR ADDR_OF_PEER TABLE
each_end()
{
	"$@" va vb "$addr_a" "$addr_b" 1077
	"$@" vb va "$addr_b" "$addr_a" 1078
	"$@" vc vd "$addr_c" "$addr_d" 1079
	"$@" vd vc "$addr_d" "$addr_c" 1080
}

sysctls_of()
{
	set_sysctl "net/ipv4/conf/$1/rp_filter" 0
	set_sysctl "net/ipv4/conf/$1/accept_local" 1
}

rules_of()
{
	ip -batch - <<-LINES
		rule add pref 10 iif $1 lookup local
		rule add pref 12 from $3 to $4 lookup $5
		rule add pref 13 oif $1 to $4 lookup $5
	LINES
}

link_up()
{
	ip link set "$1" up
}

# What has no carrier drops with an error, for up to a second after it has one
# again, and rxe's GSI QP does not survive that.
settle()
{
	until [ "$(cat "/sys/class/net/$1/operstate")" = up ]; do
		sleep 0.05
	done
}

routes_of()
{
	local mac
	read -r mac <"/sys/class/net/$2/address"
	ip -batch - <<-LINES
		addr replace $3/32 dev $1
		route replace $4 dev $1 src $3 table $5
		neigh replace $4 lladdr $mac dev $1 nud permanent
	LINES
}

netem_of()
{
	tc qdisc add dev "$1" root netem limit 100000
}

dev_of()
{
	local dev=rxe_${1#v}
	[ -e "/sys/class/infiniband/$dev" ] || rdma_up "$dev" "$1" "$3"
}

settled()
{
	each_end settle
}

mend()
{
	each_end link_up
	settled
	each_end routes_of
	each_end dev_of
}

up()
{
	load veth
	rdma_load
	ip link add va mtu "$mtu" type veth peer name vb mtu "$mtu"
	ip link add vc mtu "$mtu" type veth peer name vd mtu "$mtu"
	set_sysctl net/ipv4/conf/all/rp_filter 0
	each_end sysctls_of
	each_end netem_of
	each_end rules_of
	# Last, so that there is a local lookup at any time.
	ip rule add pref 100 lookup local
	ip rule delete pref 0
	mend
	print_vars "$addr_a" "$addr_b" rxe_a rxe_b
}

down()
{
	local dev pref
	for dev in a b c d; do
		rdma link delete "rxe_$dev"
	done
	ip rule add pref 0 lookup local
	for pref in 10 10 10 10 12 12 12 12 13 13 13 13 100; do
		ip rule delete pref "$pref"
	done
	ip link delete va
	ip link delete vc
}

case ${1-} in
up|down|mend|settled) "$1" ;;
*)	echo "usage: $0 up|down|mend|settled" >&2; exit 2 ;;
esac
