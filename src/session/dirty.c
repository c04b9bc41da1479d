/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many dirty pages the kernel may keep for the mount, and for how long.
 *
 * Many are good for who writes much: pages beside each other go out together, and
 * those that are written again go once. But the kernel sends them all through one
 * queue, so whoever calls fsync meanwhile waits until everything before its own page is
 * written: half a second and more beside a large copy. So while programs call fsync again
 * and again, there may be few. The steward has the right to say so, if root mounted.
 */
#include "session/session_internal.h"

#include "session/steward.h"

#define OFTEN 3u /* calls of fsync within a window */
#define WINDOW_NS 1000000000u
#define CALM_NS 5000000000u /* since the last one, until it is taken back */

#define LARGE_BYTES (512u << 10) /* of a write; the kernel sends 1 MiB at most */
#define ROUND_BYTES (4u << 20)   /* of large writes, worth another round */
#define ROUND_NS 15000000u       /* between rounds; shorter than the watcher is awake */

void fc_dirty_synced(struct fc_session *session)
{
	struct fc_dirty *dirty = &session->dirty;
	uint64_t now = fc_now_ns();

	atomic_store(&dirty->synced_ns, now);
	if (atomic_load(&dirty->few))
		return;
	/* what two threads do to the count here at once does no harm */
	if (now - atomic_load(&dirty->window_ns) > WINDOW_NS) {
		atomic_store(&dirty->window_ns, now);
		atomic_store(&dirty->count, 0);
	}
	if (atomic_fetch_add(&dirty->count, 1) + 1 >= OFTEN && !atomic_exchange(&dirty->few, true))
		fc_steward_limit_dirty(session->options->steward, true);
}

static void next_round(struct fc_session *session)
{
	struct fc_dirty *dirty = &session->dirty;
	uint64_t last = atomic_load(&dirty->round_ns), now = fc_now_ns();

	if (atomic_load(&dirty->few) || now - last < ROUND_NS ||
	    !atomic_compare_exchange_strong(&dirty->round_ns, &last, now))
		return;
	atomic_store(&dirty->large, 0);
	fc_steward_write_back(session->options->steward);
}

void fc_dirty_written(struct fc_session *session, size_t n)
{
	struct fc_dirty *dirty = &session->dirty;

	if (n >= LARGE_BYTES && atomic_fetch_add(&dirty->large, n) + n >= ROUND_BYTES)
		next_round(session);
}

void fc_dirty_tick(struct fc_session *session)
{
	struct fc_dirty *dirty = &session->dirty;

	if (atomic_load(&dirty->large) >= ROUND_BYTES)
		next_round(session);
	if (!atomic_load(&dirty->few) || fc_now_ns() - atomic_load(&dirty->synced_ns) < CALM_NS)
		return;
	if (atomic_exchange(&dirty->few, false))
		fc_steward_limit_dirty(session->options->steward, false);
}
