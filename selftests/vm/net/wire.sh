#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Two rxe devices on the two ends of a veth pair in one kernel: two NICs, real
# packets between them, netem and link events work.
#
# The kernel would route between two addresses of its own over lo. So: rules
# send what goes from one address to the other out by its own end, what comes
# in by an end is looked up as local, and only then comes the usual local
# lookup. rxe works in the initial network namespace only, hence no namespaces.
# An rdma_cm client must bind its source address. After an address or a link has
# changed, routes and neighbours are gone: `wire.sh routes` brings them back.

set -eu
. "$(dirname "$0")/common.sh"

table_a=1077 table_b=1078

end_up()
{
	set_sysctl "net/ipv4/conf/$1/accept_local" 1
	set_sysctl "net/ipv4/conf/$1/rp_filter" 0
	ip link set "$1" mtu "$mtu" up
	ip addr add "$2/32" dev "$1"
	ip -6 addr add "$3/128" dev "$1" nodad
}

# rules_of FAMILY A B: see above. Rule 0 goes last, so that there is a local
# lookup at any time.
rules_of()
{
	ip "$1" rule add pref 10 iif va lookup local
	ip "$1" rule add pref 11 iif vb lookup local
	ip "$1" rule add pref 12 from "$2" to "$3" lookup "$table_a"
	ip "$1" rule add pref 13 oif va to "$3" lookup "$table_a"
	ip "$1" rule add pref 14 from "$3" to "$2" lookup "$table_b"
	ip "$1" rule add pref 15 oif vb to "$2" lookup "$table_b"
	ip "$1" rule add pref 100 lookup local
	ip "$1" rule delete pref 0
}

unrules_of()
{
	local pref
	ip "$1" rule add pref 0 lookup local
	for pref in 10 11 12 13 14 15 100; do
		ip "$1" rule delete pref "$pref"
	done
}

# path NETDEV SRC DST DST_NETDEV TABLE
path()
{
	local mac
	mac=$(cat "/sys/class/net/$4/address")
	ip route replace "$3" dev "$1" src "$2" table "$5"
	ip neigh replace "$3" lladdr "$mac" dev "$1" nud permanent
}

routes()
{
	path va "$addr_a" "$addr_b" vb "$table_a"
	path vb "$addr_b" "$addr_a" va "$table_b"
	path va "$addr6_a" "$addr6_b" vb "$table_a"
	path vb "$addr6_b" "$addr6_a" va "$table_b"
}

up()
{
	load veth rdma_rxe
	ip link add va type veth peer name vb
	set_sysctl net/ipv4/conf/all/rp_filter 0
	end_up va "$addr_a" "$addr6_a"
	end_up vb "$addr_b" "$addr6_b"
	rules_of -4 "$addr_a" "$addr_b"
	rules_of -6 "$addr6_a" "$addr6_b"
	routes
	rxe_up rxe_a va "$addr_a"
	rxe_up rxe_b vb "$addr_b"
	print_vars "$addr_a" "$addr_b" rxe_a rxe_b
}

down()
{
	rdma link delete rxe_a
	rdma link delete rxe_b
	unrules_of -4
	unrules_of -6
	ip link delete va
}

case ${1-} in
up|down|routes) "$1" ;;
*)	echo "usage: $0 up|down|routes" >&2; exit 2 ;;
esac
