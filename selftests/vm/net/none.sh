#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# No network but lo, no RDMA device.

set -eu
. "$(dirname "$0")/common.sh"

case ${1-} in
up)	print_vars 127.0.0.1 127.0.0.1 '' '' ;;
down)	;;
*)	echo "usage: $0 up|down" >&2; exit 2 ;;
esac
