#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 400
# long
# many-threads for a minute.
FC_SECONDS=60 exec bash "$SOURCE/tests/cases/many-threads.sh"
