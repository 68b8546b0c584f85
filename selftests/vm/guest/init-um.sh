#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2154 # te_* come from the kernel command line
#
# init of a User Mode Linux guest. The root is the host's, read-only by hostfs:
# put an overlay with a tmpfs upper over it, the tree's build/ writable inside,
# make that the root and go on with guest.sh. te_* come from the command line.

set -eu
export PATH=/usr/sbin:/usr/bin:/sbin:/bin

mount -t tmpfs -o size=75% tmpfs /run
mkdir /run/upper /run/work /run/root
mount -t overlay overlay /run/root \
	-o lowerdir=/,upperdir=/run/upper,workdir=/run/work
mount -t hostfs -o "$te_build" build "/run/root$te_build"
cd /run/root
# As switch_root does: user namespaces refuse to be made in a plain chroot.
mount --move . /
exec chroot . /bin/bash "$te_vm/guest/guest.sh"
