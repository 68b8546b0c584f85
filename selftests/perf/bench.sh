#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# bench.sh: te against perftest over the same two soft-RoCE devices, on User Mode
# Linux (native speed, one CPU) and on 6.12 (emulated unless KVM works, two
# CPUs). Prints, per kernel, operation and block size,
#
#   ratio NAME TE RIVAL TE/RIVAL    MB/s, 10^6 bytes, medians
#   cpu NAME TE RIVAL               CPU seconds of the whole guest per GiB
#   calls NAME TE RIVAL             system calls per 1000 requests
#
# The rival is the better of ib_*_bw with one and with two QPs. Numbers of two
# boots do not compare; those of one line were taken in turns. The settings of
# rounds.sh may be given in the environment: ROUNDS, SECS, SIZES, OPS.

set -eu
cd "$(dirname "$0")/../.."
vm=selftests/vm

"$vm/packages.sh" build-essential perftest strace rdma-core ibverbs-providers
make -s --no-print-directory modules-um modules-6.12 tools

status=0
for kernel in ${KERNELS:-um 6.12}; do
	"$vm/run.sh" --kernel "$kernel" --net wire --mem 2048 \
		--time 2400 -- env ROUNDS="${ROUNDS-}" SECS="${SECS-}" \
		SIZES="${SIZES-}" OPS="${OPS-}" selftests/perf/rounds.sh ||
		status=$?
done
exit "$status"
