#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 900
# long
# As kill-9-idle-then-mount, with 25,000 files.
# shellcheck disable=SC2034 # read there
FILES=25000
# shellcheck source=tests/cases/kill-9-idle-then-mount.sh
. "$SOURCE/tests/cases/kill-9-idle-then-mount.sh"
