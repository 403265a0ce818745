/* test_pemtext.c - which texts go on to a program, a file or OpenSSL as PEM */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "wire/tls/pemtext.h"

static void test_texts(void **state)
{
    static const struct {
        const char *text, *kind;
        bool good;
    } cases[] = {
        { "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n", PEM_CERTIFICATE, true },
        { "-----BEGIN CERTIFICATE-----\r\nMIIB\r\n-----END CERTIFICATE-----", PEM_CERTIFICATE,
          true },
        { "subject: x\n-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
          PEM_CERTIFICATE, true },
        { "-----BEGIN NEW CERTIFICATE REQUEST-----\nM\n-----END NEW CERTIFICATE REQUEST-----\n",
          PEM_REQUEST, true },
        { "-----BEGIN EC PRIVATE KEY-----\nM\n-----END EC PRIVATE KEY-----\n", PEM_KEY, true },
        { "", PEM_CERTIFICATE, false },
        { "-----BEGIN CERTIFICATE-----\nMIIB\n", PEM_CERTIFICATE, false },
        { "-----END CERTIFICATE-----\n-----BEGIN CERTIFICATE-----\n", PEM_CERTIFICATE, false },
        { "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n", PEM_KEY, false },
        { "-----BEGIN CERTIFICATE REQUEST-----\nM\n-----END CERTIFICATE REQUEST-----\n",
          PEM_CERTIFICATE, false },
        { "-----BEGIN XCERTIFICATE-----\nM\n-----END XCERTIFICATE-----\n", PEM_CERTIFICATE, false },
        { "-----BEGIN CERTIFICATE-----\n\033[2J\n-----END CERTIFICATE-----\n", PEM_CERTIFICATE,
          false },
        { "-----BEGIN CERTIFICATE-----\n\xc3\xa9\n-----END CERTIFICATE-----\n", PEM_CERTIFICATE,
          false },
        { "x -----BEGIN CERTIFICATE-----\nM\n-----END CERTIFICATE-----\n", PEM_CERTIFICATE, false },
        { "-----BEGIN ", PEM_CERTIFICATE, false },
        { "-----BEGIN CERTIFICATE----\n-----END CERTIFICATE----\n", PEM_CERTIFICATE, false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (pemtext_holds(cases[i].text, cases[i].kind) != cases[i].good)
            fail_msg("case %zu: %s", i, cases[i].text);
}

int main(void)
{
    static const struct CMUnitTest tests[] = { cmocka_unit_test(test_texts) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
