/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unlock helper: the only program that sees a passphrase. fusecrypt runs
 * it, it asks, derives, unwraps, sends the master key over a socket that it
 * inherited, and exits. See fusecrypt-unlock(8) and key/unlock_reply.h.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "key/keyfile.h"
#include "key/recovery.h"
#include "secret/secret.h"
#include "unlock.h"
#include "unlock_program.h"
#include "unlock_sandbox.h"
#include "unlock_tpm2.h"

static const char usage[] = "fusecrypt-unlock is run by fusecrypt, to ask for secrets: see fusecrypt-unlock(8)\n";

static int number_arg(const char *text)
{
	char *end;
	long v = strtol(text, &end, 10);

	return *text && !*end && v >= 0 && v < 1 << 20 ? (int)v : -1;
}

static void take_number(const char *text, uint32_t *out)
{
	int v = number_arg(text);

	*out = v < 0 ? 0 : (uint32_t)v;
}

static bool take_option(struct unlock *u, int c)
{
	struct fc_unlock_request *r = &u->request;

	if (r->rekey && strchr("pdfy", c))
		return unlock_rekey_secret(u, c, c == 'd' ? number_arg(optarg) : -1);

	switch (c) {
	case 'r':
		u->reply_fd = number_arg(optarg);
		return true;
	case 'c':
		r->container_fd = number_arg(optarg);
		return true;
	case 'n':
		r->container = optarg;
		return true;
	case 'k':
		r->kdf = optarg;
		return true;
	case 'p':
		r->from.passphrase_file = optarg;
		return true;
	case 'd':
		r->from.passphrase_fd = number_arg(optarg);
		return true;
	case 'f':
		r->from.key_file = optarg;
		return true;
	case 'y':
		r->from.recovery_file = optarg;
		return true;
	case 's':
		take_number(optarg, &r->slots);
		return true;
	case 'a':
		r->again = true;
		return true;
	case 'u':
		r->unasked = true;
		return true;
	case 'K':
		take_number(optarg, &r->fresh_kind);
		return true;
	case 'P':
		r->fresh.passphrase_file = optarg;
		return true;
	case 'D':
		r->fresh.passphrase_fd = number_arg(optarg);
		return true;
	case 'F':
		r->fresh.key_file = optarg;
		return true;
	case 'Y':
		r->fresh.recovery_file = optarg;
		return true;
	default:
		return false;
	}
}

static bool parse_args(int argc, char **argv, struct unlock *u)
{
	static const struct option options[] = {
		{ "reply-fd", required_argument, NULL, 'r' },
		{ "container-fd", required_argument, NULL, 'c' },
		{ "container", required_argument, NULL, 'n' },
		{ "kdf", required_argument, NULL, 'k' },
		{ "passphrase-file", required_argument, NULL, 'p' },
		{ "passphrase-fd", required_argument, NULL, 'd' },
		{ "key-file", required_argument, NULL, 'f' },
		{ "recovery-code-file", required_argument, NULL, 'y' },
		{ "slots", required_argument, NULL, 's' },
		{ "again", no_argument, NULL, 'a' },
		{ "unasked", no_argument, NULL, 'u' },
		{ "new-kind", required_argument, NULL, 'K' },
		{ "new-passphrase-file", required_argument, NULL, 'P' },
		{ "new-passphrase-fd", required_argument, NULL, 'D' },
		{ "new-key-file", required_argument, NULL, 'F' },
		{ "new-recovery-code-file", required_argument, NULL, 'Y' },
		{ NULL, 0, NULL, 0 },
	};
	struct fc_unlock_request *r = &u->request;
	int c;

	u->reply_fd = r->container_fd = r->from.passphrase_fd = r->fresh.passphrase_fd = -1;
	if (argc < 2 || !unlock_is_mode(argv[1]))
		return false;
	u->ask = !strcmp(argv[1], "ask");
	r->rekey = !strcmp(argv[1], "rekey");
	r->create = !strcmp(argv[1], "create");
	r->wrap = !strcmp(argv[1], "wrap");
	optind = 2;
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
		if (!take_option(u, c))
			return false;
	return optind == argc && u->reply_fd >= 0 && r->container && (r->create || u->ask || r->container_fd >= 0) &&
	       (r->kdf || !(r->create || r->wrap));
}

/* ---- opening ------------------------------------------------------------ */

static const char *kind_name(uint32_t kind)
{
	switch (kind) {
	case FC_SLOT_KIND_PASSPHRASE:
		return "passphrase";
	case FC_SLOT_KIND_KEY_FILE:
		return "key file";
	case FC_SLOT_KIND_TPM2:
		return "TPM";
	default:
		return "recovery code";
	}
}

static int take_found(struct unlock *u)
{
	struct fc_unlock_reply *r = u->reply;

	r->opened_slot = u->found.slot;
	r->sequence = u->found.sequence;
	r->opened = *u->found.at;
	return 0;
}

int unlock_try_secret(struct unlock *u)
{
	const struct unlock_secret *s = u->secret;
	int rc = fc_slot_unlock(u->headers, s->kind, s->bytes, s->n, u->reply->master, &u->found);

	return rc ? rc : take_found(u);
}

static void say_refused(struct unlock *u, int rc)
{
	const char *container = u->request.container, *kind = kind_name(u->secret->kind);

	if (rc == FC_EBADKEY && !unlock_has_kind(u->headers, u->secret->kind))
		unlock_say("%s has no %s: no key opens it", container, kind);
	else if (rc == FC_EBADKEY)
		unlock_say("no key opens %s: this is not its %s", container, kind);
	else if (rc == FC_EFORGED)
		unlock_say("the %s opens %s, but the header does not authenticate: it was damaged or forged", kind,
			   container);
	else if (rc == FC_ENOMEM)
		unlock_say("the %s of %s costs more memory to try than this machine has free", kind, container);
	else if (rc == FC_ECORRUPT)
		unlock_say("%s asks for an absurd effort to try its %s: its header was damaged or forged", container,
			   kind);
	else
		unlock_say("%s cannot be opened: %s", container, fc_error_text(rc));
}

/* What was typed may be a recovery code instead: 0, or *group names the one that is mistyped. */
static int try_typed_code(struct unlock *u, unsigned *group)
{
	struct unlock_secret *s = u->secret;
	int rc;

	*group = 0;
	if (!unlock_has_kind(u->headers, FC_SLOT_KIND_RECOVERY))
		return FC_EBADKEY;
	rc = fc_recovery_parse((const char *)s->bytes, s->n, s->again, group);
	if (rc)
		return FC_EBADKEY;
	rc = fc_slot_unlock(u->headers, FC_SLOT_KIND_RECOVERY, s->again, FC_RECOVERY_BYTES, u->reply->master,
			    &u->found);
	return rc ? rc : take_found(u);
}

/* Whether a passphrase or a recovery code, as it was typed. */
static int try_typed(struct unlock *u)
{
	char text[64];
	unsigned group;
	int rc;

	/* no container has an empty one: do not spend a second on it */
	if (!u->secret->n)
		return FC_EBADKEY;
	if (!try_typed_code(u, &group))
		return 0;
	rc = unlock_try_secret(u);
	if (rc != FC_EBADKEY || !group)
		return rc;
	snprintf(text, sizeof(text), "Group %u of that recovery code is mistyped.", group);
	unlock_remark(text);
	return rc;
}

int unlock_by_asking(struct unlock *u)
{
	struct unlock_secret *s = u->secret;
	int rc = FC_EBADKEY;

	s->kind = FC_SLOT_KIND_PASSPHRASE;
	if (!unlock_has_kind(u->headers, FC_SLOT_KIND_PASSPHRASE)) {
		unlock_say("%s has no passphrase: use --key-file or --recovery-code-file", u->request.container);
		return FC_EBADKEY;
	}
	for (int i = 0; i < UNLOCK_TRIES && rc == FC_EBADKEY; i++) {
		rc = unlock_passphrase_asked(u->request.container, false, s);
		if (rc)
			return rc;
		/* a program that knows one answer only need not be asked three times */
		rc = FC_EBADKEY;
		if (i && unlock_program_there() && s->n == s->last_n && !sodium_memcmp(s->last, s->bytes, s->n))
			break;
		memcpy(s->last, s->bytes, s->n);
		s->last_n = s->n;
		rc = try_typed(u);
		if (rc == FC_EBADKEY && i + 1 < UNLOCK_TRIES)
			unlock_remark("That does not open it.");
	}
	if (rc)
		say_refused(u, rc);
	return rc;
}

/* Reads and tries the i-th of the secrets given. 1: it opens; 0: it is not given. */
static int open_given(struct unlock *u, int i)
{
	const struct fc_secret_from *from = &u->request.from;
	int rc;

	if (i == 0 && (from->passphrase_file || from->passphrase_fd >= 0))
		rc = unlock_passphrase_given(from, u->secret);
	else if (i == 1 && from->key_file)
		rc = unlock_key_file_given(from->key_file, false, u->secret);
	else if (i == 2 && from->recovery_file)
		rc = unlock_recovery_given(from->recovery_file, u->secret);
	else
		return 0;
	if (rc)
		return rc;
	rc = unlock_try_secret(u);
	if (rc == FC_EBADKEY && i == 0 && u->request.rekey)
		rc = unlock_open_by_pin(u);
	if (rc)
		say_refused(u, rc);
	return rc ? rc : 1;
}

/* Slots that may not open it are as if they were free. */
static void leave_out_slots(struct unlock *u)
{
	for (int c = 0; u->request.slots && c < 2; c++)
		for (unsigned i = 0; i < FC_SLOTS; i++)
			if (!(u->request.slots >> i & 1))
				u->headers->copy[c].slots[i].used = false;
}

static bool has_slots(const struct fc_headers *h)
{
	for (int c = 0; c < 2; c++)
		for (unsigned i = 0; !h->status[c] && i < FC_SLOTS; i++)
			if (h->copy[c].slots[i].used)
				return true;
	return false;
}

/* Any one that is right is enough; else the first failure counts. */
int unlock_by_given(struct unlock *u)
{
	int first = 0;

	for (int i = 0; i < 3; i++) {
		int rc = open_given(u, i);

		if (rc == 1)
			return 0;
		if (!first)
			first = rc;
	}
	return first;
}

int unlock_confine(const struct unlock *u)
{
	int rc = unlock_sandbox(u->tpm2_sockets);

	if (rc)
		unlock_say("the helper cannot be confined: not asking for secrets");
	return rc;
}

/* Then it is confined. */
int unlock_load_headers(struct unlock *u)
{
	struct fc_io *io = NULL;
	int rc = fc_io_file(u->request.container_fd, true, &io);

	if (!rc)
		rc = fc_headers_load(io, u->headers);
	fc_io_close(io);
	if (rc) {
		unlock_say("the header of %s cannot be used: %s", u->request.container, fc_error_text(rc));
		return rc;
	}
	if (!has_slots(u->headers)) {
		unlock_say("%s has no key any more: only a backup of its header can open it again",
			   u->request.container);
		return FC_EBADKEY;
	}
	leave_out_slots(u);
	unlock_tpm2_prepare(u);
	return unlock_confine(u);
}

static int do_open(struct unlock *u)
{
	int rc = unlock_load_headers(u);

	if (rc)
		return rc;
	if (fc_secret_given(&u->request.from))
		return unlock_by_given(u);
	rc = unlock_open_by_tpm2(u);
	return rc == FC_EBADKEY && !u->request.unasked ? unlock_by_asking(u) : rc;
}

/* ---- new slots ---------------------------------------------------------- */

int unlock_new_slot(struct unlock *u, const struct fc_kdf_cost *cost)
{
	struct unlock_secret *s = u->secret;
	struct fc_unlock_reply *r = u->reply;
	int rc = fc_slot_seal(&r->slots[r->slot_count], s->kind, cost, u->request.create ? 1 : r->opened.epoch,
			      (uint64_t)time(NULL), s->bytes, s->n, r->master);

	if (rc)
		unlock_say("the %s cannot be set up: %s", kind_name(s->kind), fc_error_text(rc));
	else
		r->slot_count++;
	return rc;
}

/* Of a secret that can be guessed. */
static int new_stretched(struct unlock *u)
{
	struct fc_kdf_cost cost;
	int rc = fc_kdf_named(u->request.kdf, &cost);

	if (rc)
		unlock_say("--kdf %s: %s", u->request.kdf, fc_error_text(rc));
	return rc ? rc : unlock_new_slot(u, &cost);
}

static int new_passphrase(struct unlock *u, const struct fc_secret_from *from)
{
	int rc;

	if (from->passphrase_file || from->passphrase_fd >= 0)
		rc = unlock_passphrase_given(from, u->secret);
	else
		rc = unlock_passphrase_asked(u->request.container, true, u->secret);
	/* An empty new passphrase is a mistake of the call, not a wrong key. */
	if (rc == FC_EBADKEY)
		rc = FC_EINVAL;
	return rc ? rc : new_stretched(u);
}

static int new_key_file(struct unlock *u, const char *path)
{
	const struct fc_kdf_cost none = { FC_KDF_NONE, 0, 0 };
	int rc = unlock_key_file_given(path, true, u->secret);

	if (rc)
		return rc;
	/* A short file may hold a word that can be guessed. */
	return u->secret->file_bytes < FC_KEYFILE_SHORT ? new_stretched(u) : unlock_new_slot(u, &none);
}

/* path NULL: shown on the terminal. Last of what is made: then it is not in vain. */
static int new_recovery(struct unlock *u, const char *path)
{
	const struct fc_kdf_cost none = { FC_KDF_NONE, 0, 0 };
	int rc = unlock_recovery_drawn(path, u->request.container, u->secret);

	if (rc)
		return rc;
	rc = unlock_new_slot(u, &none);
	if (rc)
		unlock_recovery_void(path);
	return rc;
}

static int do_create(struct unlock *u)
{
	const struct fc_secret_from *from = &u->request.from;
	bool given = from->passphrase_file || from->passphrase_fd >= 0, offered = false;
	int rc = 0;

	rc = unlock_confine(u);
	if (rc)
		return rc;
	randombytes_buf(u->reply->master, FC_KEY_BYTES);
	if (given || !from->key_file)
		rc = new_passphrase(u, from);
	if (!rc && from->key_file)
		rc = new_key_file(u, from->key_file);
	/* who is asked for a passphrase may forget it */
	if (!rc && !given && !from->key_file && !from->recovery_file)
		rc = unlock_recovery_offered(u->request.container, u->secret, &offered);
	if (!rc && (offered || from->recovery_file))
		rc = new_recovery(u, from->recovery_file);
	return rc;
}

/* The secret that opened it, at the cost that is asked for. */
static int wrap_again(struct unlock *u)
{
	if (u->reply->opened.kdf != FC_KDF_NONE)
		return new_stretched(u);
	unlock_say("slot %u of %s is a %s, which is too long to be guessed: --kdf does not matter for it",
		   u->reply->opened_slot, u->request.container, kind_name(u->secret->kind));
	return FC_EINVAL;
}

static int do_wrap(struct unlock *u)
{
	const struct fc_secret_from *fresh = &u->request.fresh;
	uint32_t kind = u->request.fresh_kind;
	int rc = do_open(u);

	if (rc)
		return rc;
	if (u->request.again)
		return wrap_again(u);
	if (!kind)
		kind = u->secret->kind;
	switch (kind) {
	case FC_SLOT_KIND_PASSPHRASE:
		return new_passphrase(u, fresh);
	case FC_SLOT_KIND_KEY_FILE:
		if (fresh->key_file)
			return new_key_file(u, fresh->key_file);
		unlock_say("the new key file is missing: give it with --new-key-file");
		return FC_EINVAL;
	case FC_SLOT_KIND_TPM2:
		return unlock_new_tpm2(u, fresh);
	default:
		return new_recovery(u, fresh->recovery_file);
	}
}

static int send_reply(struct unlock *u)
{
	struct fc_unlock_reply *r = u->reply;
	ssize_t n;

	r->protocol = FC_UNLOCK_PROTOCOL;
	r->bytes = sizeof(*r);
	if (r->error) {
		sodium_memzero(r->master, FC_KEY_BYTES);
		sodium_memzero(r->fresh_master, FC_KEY_BYTES);
	}
	do
		n = send(u->reply_fd, r, sizeof(*r), MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(*r) ? 0 : FC_EIO;
}

/* What must hold before there is a secret. 0, or 1, having said what does not. */
static int prepare(struct unlock *u)
{
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (unlock_sandbox_start() || fc_secret_init() || fc_secret_harden()) {
		unlock_say("core dumps cannot be switched off: not asking for secrets");
		return 1;
	}
	if (unlock_program_start())
		return 1;
	unlock_lock_memory();
	u->secret = fc_secret_alloc(sizeof(*u->secret));
	u->reply = fc_secret_alloc(sizeof(*u->reply));
	u->headers = calloc(1, sizeof(*u->headers));
	if (u->secret && u->reply && u->headers)
		return 0;
	unlock_say("out of memory");
	return 1;
}

static void end(struct unlock *u)
{
	unlock_program_end();
	unlock_tpm2_end();
	fc_secret_free(u->reply);
	fc_secret_free(u->secret);
	free(u->headers);
}

/* Opens or creates, and sends the reply. */
static int answer(struct unlock *u)
{
	int rc = u->request.create  ? do_create(u)
		 : u->request.wrap  ? do_wrap(u)
		 : u->request.rekey ? unlock_rekey(u)
				    : do_open(u);

	u->reply->error = rc;
	if (!fc_secret_locked())
		unlock_say(
			"warning: secrets could not be locked into memory and may be swapped out: raise `ulimit -l`");
	if (send_reply(u)) {
		rc = FC_EIO;
		unlock_recovery_void(u->request.create ? u->request.from.recovery_file
						       : u->request.fresh.recovery_file);
	}
	return rc == FC_EINTERRUPTED ? 130 : rc ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct unlock u = { 0 };
	int status, rc;

	if (!parse_args(argc, argv, &u)) {
		fputs(usage, stderr);
		return 2;
	}
	status = prepare(&u);
	if (!status && u.ask) {
		rc = unlock_ask_for_several(&u);
		status = rc == FC_EINTERRUPTED ? 130 : rc == FC_EBADKEY ? 3 : rc ? 1 : 0;
	} else if (!status) {
		status = answer(&u);
	}
	end(&u);
	return status;
}
