/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FC_BENCH_COMMAND_H
#define FC_BENCH_COMMAND_H

/* `run`. The exit status: 0 done, 1 something failed, 2 usage, 9 no space,
 * 130 interrupted. */
int fc_command_run(int argc, char **argv);

#endif
