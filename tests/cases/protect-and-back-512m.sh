#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# long
# timeout: 900
# protect-and-back on a file system of 512 MiB, with a file of 250 MiB.
export FC_PROTECT_SIZE=512M FC_PROTECT_FILES=4000 FC_PROTECT_LARGE=262144000
# shellcheck source=tests/cases/protect-and-back.sh
. "$SOURCE/tests/cases/protect-and-back.sh"
