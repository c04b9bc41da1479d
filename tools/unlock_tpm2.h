/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * This machine's TPM 2.0: seals 32 bytes so that only it gives them back, by way of
 * /dev/tpmrm0 or of $FUSECRYPT_TPM2_TCTI. What goes to it and back is encrypted on the
 * bus under its storage key (ECC P-256, as of TCG's template), which is made anew each time.
 */
#ifndef FC_TOOLS_UNLOCK_TPM2_H
#define FC_TOOLS_UNLOCK_TPM2_H

#include "key/tpm2_slot.h"

/* Before the helper is confined; *sockets: it needs to make such. 0; FC_ENOTSUP: built without; FC_ENXIO: it cannot be
 * reached. *why (static or till the next call) says so in any case. */
int unlock_tpm2_connect(bool *sockets, const char **why);

/* auth: 32 bytes, NULL without a PIN. Fills in the blobs and their lengths. 0; FC_EIO, with *why. */
int unlock_tpm2_seal(const uint8_t secret[FC_TPM2_SEALED_BYTES], const uint8_t *auth, struct fc_tpm2_slot *t,
		     const char **why);

/* 0; FC_EBADKEY: this TPM did not seal it, or was cleared since; FC_EACCESS: wrong PIN; FC_EPERM: too many
 * wrong ones, it gives nothing away for a time; FC_EIO. *why says so. */
int unlock_tpm2_unseal(const struct fc_tpm2_slot *t, const uint8_t *auth, uint8_t secret[FC_TPM2_SEALED_BYTES],
		       const char **why);

void unlock_tpm2_end(void);

#endif
