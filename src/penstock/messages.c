/* messages.c - what `penstock` says: messages on stderr, rows of --help */
#include "penstock/penstock.h"

#include <stdarg.h>
#include <stdio.h>

static void print_message(const char *kind, const char *fmt, va_list ap)
{
    char text[2048];

    (void)vsnprintf(text, sizeof(text), fmt, ap); /* cut is fine */
    (void)fprintf(stderr, "penstock: %s%s\n", kind, text);
}

void say(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    print_message("", fmt, ap);
    va_end(ap);
}

int say_error(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    print_message("error: ", fmt, ap);
    va_end(ap);
    return STATUS_FAILED;
}

int say_nomem(void)
{
    return say_error(ERR_NOMEM);
}

int usage_error(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    print_message("error: ", fmt, ap);
    va_end(ap);
    (void)fputs("Try \"penstock --help\" for more information\n", stderr);
    return STATUS_USAGE;
}

int bad_option(void)
{
    (void)fputs("Try \"penstock --help\" for more information\n", stderr);
    return STATUS_USAGE;
}

void print_option(char letter, const char *name, const char *metavar, const char *help)
{
    const char short_form[] = { '-', letter, ',', ' ', '\0' };
    char left[64];

    (void)snprintf(left, sizeof(left), "%s--%s%s%s", letter ? short_form : "    ", name,
                   metavar ? "=" : "", metavar ? metavar : "");
    (void)printf("  %-26s %s\n", left, help);
}
