#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A container on btrfs, which copies on write itself.
# shellcheck source=tests/cases/lib.sh
. "$SOURCE/tests/cases/lib.sh"
# shellcheck source=tests/cases/lib-host.sh
. "$SOURCE/tests/cases/lib-host.sh"
on_host btrfs 900M
