/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unlock_tpm2.h"

#include "config.h"

#if FC_HAVE_TPM2
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tss2/tss2_esys.h>
#include <tss2/tss2_mu.h>
#include <tss2/tss2_rc.h>
#include <tss2/tss2_tctildr.h>

#define DEFAULT_TCTI "device:/dev/tpmrm0"

/* Of this process: it has at most one. */
static struct {
	TSS2_TCTI_CONTEXT *tcti;
	ESYS_CONTEXT *esys;
	ESYS_TR parent, session;
	char why[512];
} tpm = { .parent = ESYS_TR_NONE, .session = ESYS_TR_NONE };

static const TPM2B_PUBLIC parent_template = {
	.publicArea = {
		.type = TPM2_ALG_ECC,
		.nameAlg = TPM2_ALG_SHA256,
		.objectAttributes = TPMA_OBJECT_FIXEDTPM | TPMA_OBJECT_FIXEDPARENT | TPMA_OBJECT_SENSITIVEDATAORIGIN |
				    TPMA_OBJECT_USERWITHAUTH | TPMA_OBJECT_NODA | TPMA_OBJECT_RESTRICTED |
				    TPMA_OBJECT_DECRYPT,
		.parameters.eccDetail = {
			.symmetric = { .algorithm = TPM2_ALG_AES, .keyBits.aes = 128, .mode.aes = TPM2_ALG_CFB },
			.scheme.scheme = TPM2_ALG_NULL,
			.curveID = TPM2_ECC_NIST_P256,
			.kdf.scheme = TPM2_ALG_NULL,
		},
		.unique.ecc = { .x.size = 32, .y.size = 32 },
	},
};

static int failed(const char *doing, TSS2_RC rc, const char **why)
{
	snprintf(tpm.why, sizeof(tpm.why), "the TPM %s: %s", doing, Tss2_RC_Decode(rc));
	*why = tpm.why;
	return FC_EIO;
}

int unlock_tpm2_connect(bool *sockets, const char **why)
{
	const char *name = getenv("FUSECRYPT_TPM2_TCTI");
	TSS2_RC rc;

	*why = NULL;
	/* its own words are for those who look for faults in it */
	setenv("TSS2_LOG", "all+NONE", 0);
	if (!name || !*name)
		name = DEFAULT_TCTI;
	*sockets = strncmp(name, "device:", 7) != 0;
	rc = Tss2_TctiLdr_Initialize(name, &tpm.tcti);
	if (!rc)
		rc = Esys_Initialize(&tpm.esys, tpm.tcti, NULL);
	if (!rc)
		return 0;
	unlock_tpm2_end();
	snprintf(tpm.why, sizeof(tpm.why), "the TPM at %s cannot be reached", name);
	*why = tpm.why;
	return FC_ENXIO;
}

static void flush(ESYS_TR *handle)
{
	if (*handle != ESYS_TR_NONE)
		Esys_FlushContext(tpm.esys, *handle);
	*handle = ESYS_TR_NONE;
}

void unlock_tpm2_end(void)
{
	if (tpm.esys) {
		flush(&tpm.session);
		flush(&tpm.parent);
		Esys_Finalize(&tpm.esys);
	}
	if (tpm.tcti)
		Tss2_TctiLdr_Finalize(&tpm.tcti);
}

/* The storage key, and a session salted by it. */
static int begin(TPMA_SESSION what, const char **why)
{
	static const TPM2B_SENSITIVE_CREATE no_secret;
	static const TPM2B_DATA no_data;
	static const TPML_PCR_SELECTION no_pcrs;
	static const TPMT_SYM_DEF cipher = { .algorithm = TPM2_ALG_AES, .keyBits.aes = 128, .mode.aes = TPM2_ALG_CFB };
	TSS2_RC rc = TPM2_RC_SUCCESS;

	*why = NULL;
	if (tpm.parent == ESYS_TR_NONE)
		rc = Esys_CreatePrimary(tpm.esys, ESYS_TR_RH_OWNER, ESYS_TR_PASSWORD, ESYS_TR_NONE, ESYS_TR_NONE,
					&no_secret, &parent_template, &no_data, &no_pcrs, &tpm.parent, NULL, NULL, NULL,
					NULL);
	if (rc)
		return failed("does not make its storage key", rc, why);
	if (tpm.session == ESYS_TR_NONE)
		rc = Esys_StartAuthSession(tpm.esys, tpm.parent, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE,
					   NULL, TPM2_SE_HMAC, &cipher, TPM2_ALG_SHA256, &tpm.session);
	if (!rc)
		rc = Esys_TRSess_SetAttributes(tpm.esys, tpm.session, what | TPMA_SESSION_CONTINUESESSION, 0xff);
	return rc ? failed("starts no session", rc, why) : 0;
}

static int keep_blobs(const TPM2B_PRIVATE *private, const TPM2B_PUBLIC *public, struct fc_tpm2_slot *t)
{
	size_t n = 0;

	if (Tss2_MU_TPM2B_PRIVATE_Marshal(private, t->blobs, sizeof(t->blobs), &n))
		return FC_EIO;
	t->private_bytes = n;
	if (Tss2_MU_TPM2B_PUBLIC_Marshal(public, t->blobs, sizeof(t->blobs), &n))
		return FC_EIO;
	t->public_bytes = n - t->private_bytes;
	return 0;
}

int unlock_tpm2_seal(const uint8_t secret[FC_TPM2_SEALED_BYTES], const uint8_t *auth, struct fc_tpm2_slot *t,
		     const char **why)
{
	static const TPM2B_DATA no_data;
	static const TPML_PCR_SELECTION no_pcrs;
	TPM2B_SENSITIVE_CREATE in = { 0 };
	TPM2B_PUBLIC object = {
		.publicArea = {
			.type = TPM2_ALG_KEYEDHASH,
			.nameAlg = TPM2_ALG_SHA256,
			.objectAttributes = TPMA_OBJECT_FIXEDTPM | TPMA_OBJECT_FIXEDPARENT | TPMA_OBJECT_USERWITHAUTH,
			.parameters.keyedHashDetail.scheme.scheme = TPM2_ALG_NULL,
		},
	};
	TPM2B_PRIVATE *private = NULL;
	TPM2B_PUBLIC *public = NULL;
	TSS2_RC rc;
	int error = begin(TPMA_SESSION_DECRYPT | TPMA_SESSION_ENCRYPT, why);

	if (error)
		return error;
	/* only guesses of a PIN count against those who guess */
	if (!auth)
		object.publicArea.objectAttributes |= TPMA_OBJECT_NODA;
	in.sensitive.data.size = FC_TPM2_SEALED_BYTES;
	memcpy(in.sensitive.data.buffer, secret, FC_TPM2_SEALED_BYTES);
	if (auth) {
		in.sensitive.userAuth.size = 32;
		memcpy(in.sensitive.userAuth.buffer, auth, 32);
	}
	rc = Esys_Create(tpm.esys, tpm.parent, tpm.session, ESYS_TR_NONE, ESYS_TR_NONE, &in, &object, &no_data,
			 &no_pcrs, &private, &public, NULL, NULL, NULL);
	sodium_memzero(&in, sizeof(in));
	if (rc)
		error = failed("does not seal a key", rc, why);
	else if (keep_blobs(private, public, t))
		error = failed("seals keys that are too long for a slot", TSS2_BASE_RC_INSUFFICIENT_BUFFER, why);
	Esys_Free(private);
	Esys_Free(public);
	return error;
}

/* A code of the TPM's without which of its parameters it is about. */
static TSS2_RC plain(TSS2_RC rc)
{
	if ((rc & TSS2_RC_LAYER_MASK) != TSS2_TPM_RC_LAYER)
		return 0;
	return rc & TPM2_RC_FMT1 ? rc & (TPM2_RC_FMT1 | 0x3f) : rc;
}

static int load(const struct fc_tpm2_slot *t, ESYS_TR *object, const char **why)
{
	TPM2B_PRIVATE private = { 0 };
	TPM2B_PUBLIC public = { 0 };
	size_t at = 0, end = t->private_bytes;
	TSS2_RC rc;

	if (Tss2_MU_TPM2B_PRIVATE_Unmarshal(t->blobs, end, &at, &private) || at != end)
		return failed("slot is not well-formed", TSS2_BASE_RC_MALFORMED_RESPONSE, why);
	end += t->public_bytes;
	if (Tss2_MU_TPM2B_PUBLIC_Unmarshal(t->blobs, end, &at, &public) || at != end)
		return failed("slot is not well-formed", TSS2_BASE_RC_MALFORMED_RESPONSE, why);
	rc = Esys_Load(tpm.esys, tpm.parent, tpm.session, ESYS_TR_NONE, ESYS_TR_NONE, &private, &public, object);
	if (plain(rc) == TPM2_RC_INTEGRITY || plain(rc) == TPM2_RC_BINDING || plain(rc) == TPM2_RC_SIZE ||
	    plain(rc) == TPM2_RC_HASH) {
		*why = "it was sealed by another TPM, or this one was cleared since";
		return FC_EBADKEY;
	}
	return rc ? failed("does not load the sealed key", rc, why) : 0;
}

static int judge(TSS2_RC rc, const char **why)
{
	if (plain(rc) == TPM2_RC_AUTH_FAIL || plain(rc) == TPM2_RC_BAD_AUTH) {
		*why = "the PIN is wrong";
		return FC_EACCESS;
	}
	if (plain(rc) == TPM2_RC_LOCKOUT) {
		*why = "the TPM is locked after too many wrong PINs: wait, or reset it with tpm2_dictionarylockout";
		return FC_EPERM;
	}
	return failed("does not give the key", rc, why);
}

int unlock_tpm2_unseal(const struct fc_tpm2_slot *t, const uint8_t *auth, uint8_t secret[FC_TPM2_SEALED_BYTES],
		       const char **why)
{
	TPM2B_SENSITIVE_DATA *data = NULL;
	TPM2B_AUTH value = { .size = auth ? 32 : 0 };
	ESYS_TR object = ESYS_TR_NONE;
	TSS2_RC rc;
	int error = begin(TPMA_SESSION_DECRYPT, why);

	if (!error)
		error = load(t, &object, why);
	if (error)
		return error;
	if (auth)
		memcpy(value.buffer, auth, 32);
	rc = Esys_TR_SetAuth(tpm.esys, object, &value);
	sodium_memzero(&value, sizeof(value));
	/* nothing to encrypt goes there, the secret comes back */
	if (!rc)
		rc = Esys_TRSess_SetAttributes(tpm.esys, tpm.session,
					       TPMA_SESSION_ENCRYPT | TPMA_SESSION_CONTINUESESSION, 0xff);
	if (!rc)
		rc = Esys_Unseal(tpm.esys, object, tpm.session, ESYS_TR_NONE, ESYS_TR_NONE, &data);
	flush(&object);
	if (rc)
		return judge(rc, why);
	if (data->size == FC_TPM2_SEALED_BYTES) {
		memcpy(secret, data->buffer, FC_TPM2_SEALED_BYTES);
	} else {
		*why = "what the TPM sealed is no key of ours";
		error = FC_EBADKEY;
	}
	sodium_memzero(data, sizeof(*data));
	Esys_Free(data);
	return error;
}

#else

static const char without[] = "this fusecrypt was built without TPM support";

static int refuse(const char **why)
{
	*why = without;
	return FC_ENOTSUP;
}

int unlock_tpm2_connect(bool *sockets, const char **why)
{
	*sockets = false;
	return refuse(why);
}

int unlock_tpm2_seal(const uint8_t secret[FC_TPM2_SEALED_BYTES], const uint8_t *auth, struct fc_tpm2_slot *t,
		     const char **why)
{
	(void)secret, (void)auth, (void)t;
	return refuse(why);
}

int unlock_tpm2_unseal(const struct fc_tpm2_slot *t, const uint8_t *auth, uint8_t secret[FC_TPM2_SEALED_BYTES],
		       const char **why)
{
	(void)t, (void)auth, (void)secret;
	return refuse(why);
}

void unlock_tpm2_end(void)
{
}

#endif
