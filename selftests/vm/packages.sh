#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# packages.sh PKG...: make sure that these Debian packages are installed. Root
# gets them installed; anyone else gets the list and status 1. Says nothing and
# costs one dpkg-query when nothing is missing.

set -eu
. "$(dirname "$0")/lib.sh"

missing=()
for pkg in "$@"; do
	state=$(dpkg-query -W -f '${db:Status-Status}' "$pkg" 2>/dev/null) || state=
	[ "$state" = installed ] || missing+=("$pkg")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" != 0 ]; then
	log "not root, so please install: ${missing[*]}"
	exit 1
fi

export DEBIAN_FRONTEND=noninteractive
apt_install()
{
	apt-get install -y -q --no-install-recommends "${missing[@]}" >&2
}

# Lists may be stale or absent: try with what is there, then refresh once.
log "installing ${missing[*]}"
if ! apt-get install -y -s --no-install-recommends "${missing[@]}" \
     >/dev/null 2>&1 || ! apt_install; then
	apt-get update -q >&2
	apt_install
fi
