/* planrepair.h - repairing a plan after something happened */
#pragma once

struct bf;

/* 1 it is as good as new, 0 it has to be made anew. */
int plan_repair(struct bf *b);
