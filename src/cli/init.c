/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "cipher/aead.h"
#include "cli/cli.h"
#include "cli/create.h"
#include "key/kdf.h"
#include "secret/secret.h"
#include "store/header.h"

#define SIZE_LIMIT_MIN (32ull << 20)

enum { OPT_CIPHER = FC_OPT_OWN, OPT_KDF, OPT_SIZE_LIMIT, OPT_LOG_SIZE };

static const struct option options[] = {
	FC_SECRET_OPTIONS,
	{ "new-passphrase-file", required_argument, NULL, FC_OPT_PASSPHRASE_FILE },
	{ "new-passphrase-fd", required_argument, NULL, FC_OPT_PASSPHRASE_FD },
	{ "new-key-file", required_argument, NULL, FC_OPT_KEY_FILE },
	{ "new-recovery-code-file", required_argument, NULL, FC_OPT_RECOVERY_FILE },
	{ "cipher", required_argument, NULL, OPT_CIPHER },
	{ "kdf", required_argument, NULL, OPT_KDF },
	{ "size-limit", required_argument, NULL, OPT_SIZE_LIMIT },
	{ "log-size", required_argument, NULL, OPT_LOG_SIZE },
	{ NULL, 0, NULL, 0 },
};

/* ---- arguments ------------------------------------------------------------ */

static int take_cipher(struct fc_create_job *job, const char *name)
{
	job->cipher = strcmp(name, "auto") ? fc_cipher_by_name(name) : fc_cipher_auto();
	if (!job->cipher)
		return fc_cli_usage("init", "--cipher %s: auto, aes-256-gcm and xchacha20-poly1305 are known", name);
	if (!fc_provider_find(job->cipher)) {
		fc_cli_say("--cipher %s: this machine cannot compute it; use xchacha20-poly1305", name);
		return FC_EXIT_FAILED;
	}
	return 0;
}

static int take_log_size(struct fc_create_job *job, const char *text)
{
	if (fc_parse_size(text, &job->log_bytes) || job->log_bytes < FC_LOG_MIN || job->log_bytes > FC_LOG_MAX)
		return fc_cli_usage("init", "--log-size %s: a size from 256K to %lluM is needed", text,
				    (unsigned long long)(FC_LOG_MAX >> 20));
	job->log_bytes = (job->log_bytes + FC_LOG_ALIGN - 1) / FC_LOG_ALIGN * FC_LOG_ALIGN;
	return 0;
}

static int take_option(struct fc_create_job *job, int c, char **argv)
{
	int rc;

	switch (c) {
	case OPT_CIPHER:
		return take_cipher(job, optarg);
	case OPT_KDF:
		job->kdf = optarg;
		if (!fc_kdf_is_name(optarg))
			return fc_cli_usage("init", "--kdf %s: auto, interactive, moderate and sensitive are known",
					    optarg);
		return 0;
	case OPT_SIZE_LIMIT:
		if (fc_parse_size(optarg, &job->size_limit))
			return fc_cli_usage("init", "--size-limit %s: a number is needed, with K, M, G or T", optarg);
		return 0;
	case OPT_LOG_SIZE:
		return take_log_size(job, optarg);
	default:
		rc = fc_secret_option(&job->from, c, optarg);
		return !rc ? 0 : rc == FC_ENOENT ? fc_cli_bad_option(argv) : FC_EXIT_USAGE;
	}
}

static int parse(int argc, char **argv, struct fc_create_job *job)
{
	int c, status;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		status = take_option(job, c, argv);
		if (status)
			return status;
	}
	if (fc_cli_operands(argc, argv, 1, "one container to make"))
		return FC_EXIT_USAGE;
	if (job->size_limit && job->size_limit < SIZE_LIMIT_MIN + job->log_bytes)
		return fc_cli_usage("init", "--size-limit: at least %llu MiB are needed, %llu of them for the log",
				    (unsigned long long)(SIZE_LIMIT_MIN + job->log_bytes + (1 << 20) - 1) >> 20,
				    (unsigned long long)job->log_bytes >> 20);
	job->path = argv[optind];
	return 0;
}

static int run(int argc, char **argv)
{
	struct fc_create_job job = { .kdf = "auto", .log_bytes = FC_LOG_DEFAULT };
	struct fc_unlock_reply *reply;
	int status;

	job.from = FC_SECRET_FROM_NONE;
	job.cipher = fc_cipher_auto();
	status = parse(argc, argv, &job);
	if (!status)
		status = fc_create_check(&job);
	if (!status)
		status = fc_create_unlock(&job, &reply);
	if (!status) {
		status = fc_create_make(&job, reply);
		fc_secret_free(reply);
	}
	free(job.parent);
	return status;
}

const struct fc_command fc_command_init = {
	.name = "init",
	.arguments = "CONTAINER [OPTION...]",
	.summary = "makes an empty container",
	.help = "  --cipher auto|aes-256-gcm|xchacha20-poly1305\n"
		"  --kdf auto|interactive|moderate|sensitive    what a guess of the passphrase costs\n"
		"  --size-limit SIZE            never larger than that (K, M, G, T: powers of 1024)\n"
		"  --log-size SIZE              16M unless given\n"
		"  --passphrase-file FILE, --new-passphrase-file FILE\n"
		"                               the passphrase is the first line of FILE (- is standard input)\n"
		"  --passphrase-fd N, --new-passphrase-fd N\n"
		"                               ... of what descriptor N gives\n"
		"  --key-file FILE, --new-key-file FILE\n"
		"                               the whole of FILE is a key; no passphrase unless one is given too\n"
		"  --recovery-code-file FILE, --new-recovery-code-file FILE\n"
		"                               writes a recovery code to a new FILE (- is standard output)\n"
		"Without any, a passphrase is asked for on the terminal, and a recovery code offered.\n",
	.run = run,
};
