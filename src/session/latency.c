/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processors that wait awake while many requests come.
 *
 * Who waits for an answer leaves its processor idle, and to wake it from
 * there costs more than most requests do: half of a round trip on a virtual
 * machine, where an idle processor is given back to the host, and as much where
 * deep sleep states are entered quickly. The kernel can be told which delay is
 * too long (power management's quality of service, /dev/cpu_dma_latency, root
 * only); with 0 it polls instead of sleeping. It is told so only while requests
 * come fast, and takes that back by itself when this process ends.
 */
#include "session/session_internal.h"

#include <fcntl.h>
#include <unistd.h>

#define NO_LIMIT_US 2000000000 /* what the kernel's own default is */

void fc_latency_open(struct fc_latency *latency)
{
	latency->fd = open("/dev/cpu_dma_latency", O_WRONLY | O_CLOEXEC);
	atomic_store(&latency->held, false);
}

/* Who holds the token calls this when it is not held, and the watcher when it is: each
 * goes by what the other one has finished. */
static void tell(struct fc_latency *latency, bool hold)
{
	int32_t limit_us = hold ? 0 : NO_LIMIT_US;

	if (write(latency->fd, &limit_us, sizeof(limit_us)) < 0)
		hold = false; /* no harm: slower */
	atomic_store(&latency->held, hold);
}

void fc_latency_request(struct fc_latency *latency)
{
	uint64_t now;

	if (latency->fd < 0 || atomic_load(&latency->held))
		return;
	now = fc_now_ns();
	if (now - latency->window_ns > FC_LATENCY_WINDOW_NS) {
		latency->window_ns = now;
		latency->requests = 0;
	}
	if (++latency->requests >= FC_LATENCY_REQUESTS)
		tell(latency, true);
}

void fc_latency_tick(struct fc_latency *latency, uint64_t requests)
{
	if (latency->fd < 0 || !atomic_load(&latency->held))
		return;
	latency->slow = requests < FC_LATENCY_TICK_REQUESTS ? latency->slow + 1 : 0;
	if (latency->slow >= FC_LATENCY_SLOW_TICKS) {
		latency->slow = 0;
		tell(latency, false);
	}
}

void fc_latency_close(struct fc_latency *latency)
{
	if (latency->fd >= 0)
		close(latency->fd);
	latency->fd = -1;
}
