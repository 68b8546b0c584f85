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
# changed, routes and neighbours are gone, and IPv6 addresses too:
# `wire.sh routes` brings all of them back. The kernel lets an end that has a
# carrier again send a second later at worst, and drops with an error till then:
# `wire.sh settle` waits for it.

set -eu
. "$(dirname "$0")/common.sh"

table_a=1077 table_b=1078

# Set-up goes through `ip -batch`: a process per line is slow in a UML guest.
ends()
{
	ip -batch - <<-LINES
		link add va mtu $mtu type veth peer name vb mtu $mtu
		link set va up
		link set vb up
	LINES
	set_sysctl net/ipv4/conf/all/rp_filter 0
	for end in va vb; do
		set_sysctl "net/ipv4/conf/$end/rp_filter" 0
		set_sysctl "net/ipv4/conf/$end/accept_local" 1
	done
}

# rules_of FAMILY A B: see above. Rule 0 goes last, so that there is a local
# lookup at any time.
rules_of()
{
	ip "$1" -batch - <<-LINES
		rule add pref 10 iif va lookup local
		rule add pref 11 iif vb lookup local
		rule add pref 12 from $2 to $3 lookup $table_a
		rule add pref 13 oif va to $3 lookup $table_a
		rule add pref 14 from $3 to $2 lookup $table_b
		rule add pref 15 oif vb to $2 lookup $table_b
		rule add pref 100 lookup local
		rule delete pref 0
	LINES
}

unrules_of()
{
	ip "$1" -batch - <<-LINES
		rule add pref 0 lookup local
		rule delete pref 10
		rule delete pref 11
		rule delete pref 12
		rule delete pref 13
		rule delete pref 14
		rule delete pref 15
		rule delete pref 100
	LINES
}

routes()
{
	local mac_a mac_b
	read -r mac_a </sys/class/net/va/address
	read -r mac_b </sys/class/net/vb/address
	ip -batch - <<-LINES
		addr replace $addr_a/32 dev va
		addr replace $addr_b/32 dev vb
		addr replace $addr6_a/128 dev va nodad
		addr replace $addr6_b/128 dev vb nodad
		route replace $addr_b dev va src $addr_a table $table_a
		route replace $addr_a dev vb src $addr_b table $table_b
		neigh replace $addr_b lladdr $mac_b dev va nud permanent
		neigh replace $addr_a lladdr $mac_a dev vb nud permanent
		route replace $addr6_b dev va src $addr6_a table $table_a
		route replace $addr6_a dev vb src $addr6_b table $table_b
		neigh replace $addr6_b lladdr $mac_b dev va nud permanent
		neigh replace $addr6_a lladdr $mac_a dev vb nud permanent
	LINES
}

settle()
{
	local end
	for end in va vb; do
		until [ "$(cat "/sys/class/net/$end/operstate")" = up ]; do
			sleep 0.05
		done
	done
}

up()
{
	load veth
	rdma_load
	ends
	rules_of -4 "$addr_a" "$addr_b"
	rules_of -6 "$addr6_a" "$addr6_b"
	routes
	rdma_up "${type}_a" va "$addr_a"
	rdma_up "${type}_b" vb "$addr_b"
	print_vars "$addr_a" "$addr_b" "${type}_a" "${type}_b"
}

down()
{
	rdma link delete "${type}_a"
	rdma link delete "${type}_b"
	unrules_of -4
	unrules_of -6
	ip link delete va
}

case ${1-} in
up|down|routes|settle) "$1" ;;
*)	echo "usage: $0 up|down|routes|settle" >&2; exit 2 ;;
esac
