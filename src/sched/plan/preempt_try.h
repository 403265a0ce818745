/* preempt_try.h - the fewest and cheapest victims with which a job fits */
#pragma once

struct choice;
struct psearch;

void choice_done(struct choice *c);
/* The jobs that leave anyway count as gone. */
int search_victims(struct psearch *x, struct choice *ret);
