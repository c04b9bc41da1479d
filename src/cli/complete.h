/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FC_CLI_COMPLETE_H
#define FC_CLI_COMPLETE_H

/* For the shells' completion: words are those after the program's name, the last one
 * is not finished and may be "". Prints what it may become, one a line; `:files`
 * stands for the names of files. All of it comes from the table of commands and
 * their help. */
void fc_complete(int count, char **words);

#endif
