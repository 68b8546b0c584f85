#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# wire.sh with soft-iWARP devices instead of rxe.

TE_DEV_TYPE=siw exec "${0%-siw.sh}.sh" "$@"
