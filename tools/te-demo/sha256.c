// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/* SHA-256; see sha256.h. */
#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>

#include "say.h"
#include "sha256.h"

int sha256_memory(const void *buf, size_t len, uint8_t sum[DEMO_SHA_BYTES])
{
	if (!EVP_Digest(buf, len, sum, NULL, EVP_sha256(), NULL))
		return say_error(-EIO, "SHA-256");

	return 0;
}

static int digest_stream(FILE *file, EVP_MD_CTX *md, uint8_t *sum)
{
	static char buf[256 << 10];
	size_t n;

	if (!EVP_DigestInit_ex(md, EVP_sha256(), NULL))
		return -EIO;
	while ((n = fread(buf, 1, sizeof(buf), file)))
		if (!EVP_DigestUpdate(md, buf, n))
			return -EIO;
	if (ferror(file) || !EVP_DigestFinal_ex(md, sum, NULL))
		return -EIO;

	return 0;
}

int sha256_file(const char *path, uint8_t sum[DEMO_SHA_BYTES])
{
	EVP_MD_CTX *md;
	FILE *file;
	int ret;

	file = fopen(path, "rb");
	if (!file)
		return say_error(-errno, "open %s", path);
	md = EVP_MD_CTX_new();
	ret = md ? digest_stream(file, md, sum) : -ENOMEM;
	if (ret)
		say_error(ret, "SHA-256 of %s", path);
	EVP_MD_CTX_free(md);
	fclose(file);

	return ret;
}

void sha256_print(const char *words, const uint8_t sum[DEMO_SHA_BYTES])
{
	int i;

	printf("%s sha256 ", words);
	for (i = 0; i < DEMO_SHA_BYTES; i++)
		printf("%02x", sum[i]);
	putchar('\n');
	fflush(stdout);
}
