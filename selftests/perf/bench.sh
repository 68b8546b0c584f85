#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# bench.sh: te against perftest, and against a bare loop of work requests in the
# kernel (floor/), over the same two soft-RoCE devices: on User Mode Linux (native
# speed, one CPU) and on 6.12 (emulated unless KVM works, two CPUs). The rival
# has to cross into the kernel for what te does there, which is dear on User Mode
# Linux, dearer than on metal; the bare loop has not: te/floor is what te itself
# costs. Prints, per kernel, operation and block size, in MB/s (10^6 bytes),
# medians,
#
#   ratio NAME TE RIVAL TE/RIVAL    te as it is, the better of ib_*_bw with one
#                                   and with two QPs
#   floor NAME TE FLOOR TE/FLOOR    te as it is, the bare loop with as many QPs
#   ratio-best, floor-best          each with the number of QPs, 1 or 2, that is
#                                   better for it; NAME tells which
#   ratio-1nic, floor-1nic          te where one NIC alone may carry
#   ratio-2nics NAME TE RIVALS ...  te as it is, which has both, and two rivals at
#                                   once, one each way
#   te-2nics NAME TWO ONE TWO/ONE   te with both and with one
#   cpu NAME TE RIVAL FLOOR         CPU seconds of the whole guest per GiB
#   calls NAME TE RIVAL             system calls per 1000 requests, of who asks
#
# Then what te costs as things grow; see growth.c. For what needs no NIC, see
# sockets.sh, with what it is measured against in MB/s:
#
#   tcp-iperf3 NAME TE IPERF TE/IPERF  the best of iperf3 -P 1, -P 4, and -P 4 -Z
#   tcp-floor-copy, tcp-floor-splice   a bare loop that copies to send, or does not
#   tcp-crc NAME CRC PLAIN CRC/PLAIN   te with checksums and without
#   local-memcpy NAME TE MEMCPY ...    copies within the node
#   cpu NAME WHO SECONDS ...           CPU seconds of the whole guest per GiB
#
# On 6.12 at last pair.sh: the first of these lines, between two guests, with the
# CPU seconds of the one that asks.
#
# Numbers of two boots do not
# compare; those of one size and operation were taken in turns. They want a quiet
# machine: a busy one's scheduler gives te more than the bare loop, as a guest of
# User Mode Linux has a host process for each of its own. The settings of
# rounds.sh may be given in the environment, KERNELS, and WHAT (rounds, sockets, pair): all
# of it takes an hour; this takes one minute:
#
#   KERNELS=um WHAT=rounds ROUNDS=1 SECS=1 OPS=write SIZES='64 65536' make bench

set -eu
cd "$(dirname "$0")/../.."
vm=selftests/vm

"$vm/packages.sh" build-essential perftest iperf3 strace rdma-core ibverbs-providers
kernels=${KERNELS:-um 6.12}
for kernel in $kernels; do
	make -s --no-print-directory "modules-$kernel" "floor-$kernel"
done
make -s --no-print-directory tools
make -s --no-print-directory -C selftests

status=0
for kernel in $kernels; do
	echo "# load of this machine: $(cut -d' ' -f1-3 /proc/loadavg)"
	for what in ${WHAT:-rounds sockets pair}; do
		case $kernel:$what in
		um:pair) continue ;;
		*:pair)	net=(--net pair --smp 1 --param insecure=1) ;;
		*)	net=(--net wire) ;;
		esac
		"$vm/run.sh" --kernel "$kernel" "${net[@]}" --mem 2048 \
			--time 3600 -- env ROUNDS="${ROUNDS-}" SECS="${SECS-}" \
			SIZES="${SIZES-}" OPS="${OPS-}" \
			"selftests/perf/$what.sh" || status=$?
	done
done
exit "$status"
