/* tgservice.h - penstock topograph serve */
#pragma once

#include "penstock/tgopts.h"

/* Serve until SIGTERM or SIGINT; gives the exit status. */
int tgservice_run(const struct tgopts *o);
