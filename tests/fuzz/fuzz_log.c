/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading a log of any bytes: block headers of 64 bytes from the input, each at
 * the start of a block of the ring. No tag can be right, so nothing may be found. */
#include <stdlib.h>
#include <string.h>

#include "cipher/log.h"
#include "secret/secret.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct fc_log_place place;

static void set_up(void)
{
	static const uint8_t master[FC_KEY_BYTES], uuid[FC_UUID_BYTES];
	struct fc_keys *keys = fc_secret_init() ? NULL : fc_keys_new(master);
	uint32_t session;

	place = (struct fc_log_place){ .io = fc_io_sim(), .offset = FC_LOG_OFFSET, .bytes = FC_LOG_MIN };
	if (!keys || fc_sessions_load(place.io, keys, FC_CIPHER_XCHACHA20POLY1305, uuid, 0, &place.sessions) ||
	    fc_sessions_start(place.sessions, place.io, &session))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fc_log_head head = { .session = 1, .seq = 1 };
	uint8_t *payload;
	uint64_t pos = 0;
	size_t n;

	if (!place.io)
		set_up();
	fc_io_punch(place.io, place.offset, place.bytes);
	if (size) { /* where the chain is said to go on */
		head.pos = data[0] % (place.bytes / FC_BLOCK) * FC_BLOCK;
		pos = head.pos;
		data++;
		size--;
	}
	for (; size >= FC_L_PAYLOAD; data += FC_L_PAYLOAD, size -= FC_L_PAYLOAD) {
		if (fc_io_write(place.io, data, FC_L_PAYLOAD, place.offset + pos))
			abort();
		pos = (pos + FC_BLOCK) % place.bytes;
	}
	if (fc_log_read(&place, &head, &payload, &n, NULL) != FC_ENOENT)
		abort();
	if (fc_log_later(&place, &head) < 0)
		abort();
	return 0;
}
