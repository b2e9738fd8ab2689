"""What a loop of AMD's instructions is made of, as RADV prints them.

Words used here:
  round   one time around the outermost loop that multiplies and adds; inner loops count as often as they go round
  stall   a wait until no load is under way, after a load of the round
  cover   multiply-adds between a load and the wait for it (a matrix one counts 64); what hides the load's latency
  guard   a branch around a load; some versions of RADV wait for each such load before the next
"""
import dataclasses
import re

LOAD = re.compile(r"(buffer|global|flat)_load")
LDS = re.compile(r"ds_(?!b?permute|swizzle)")
MATRIX = re.compile(r"v_(wmma|swmmac|mfma)")
MULTIPLY_ADD = re.compile(r"v_(?:dual_)?(?:pk_)?(?:fma|fmac|fmaak|fmamk|mad|mac|dot)\w*")
INTEGER_MULTIPLY_ADD = re.compile(r"mad_[iu]|mad_co")
SLOW = re.compile(r"v_(exp|log|rcp|rsq|sqrt|sin|cos)_|v_mul_(lo|hi)_|v_mad_[iu]64")
ONE_CYCLE = re.compile(r"v_(fma|fmac|fmaak|fmamk|mul|add|sub|subrev|max|min)_f32|v_mov_b32|v_cndmask_b32|v_dual")
MATRIX_WORTH = 64
UNKNOWN_ROUNDS = 8
BYTES = ((r"x4$|b128", 16), (r"x3$|b96", 12), (r"x2$|b64", 8), (r"d16|short|[ui]16|b16", 2), (r"byte|[ui]8|_b8", 1))


@dataclasses.dataclass(frozen=True)
class Chip:
    units: int      # compute units
    simds: int      # in each
    latency: int    # cycles of a load
    gcn: bool = False            # a wave of 64 takes four cycles an instruction
    full_rate_wave64: bool = False  # and f32 arithmetic of one takes a single cycle


CHIPS = {
    "polaris10": Chip(36, 4, 500, gcn=True), "vega10": Chip(64, 4, 500, gcn=True),
    "navi21": Chip(80, 2, 350), "navi31": Chip(96, 2, 350, full_rate_wave64=True),
    "gfx1201": Chip(64, 2, 350, full_rate_wave64=True),
}


def opcode(instruction):
    return instruction.split(None, 1)[0]


def bytes_of(instruction):
    """What a lane moves."""
    op = opcode(instruction)
    size = next((size for pattern, size in BYTES if re.search(pattern, op)), 4)
    return size * 2 if re.search(r"2addr|read2|write2", op) else size


def multiply_adds(instruction):
    if MATRIX.match(instruction):
        return MATRIX_WORTH
    return sum(not INTEGER_MULTIPLY_ADD.search(op) for op in MULTIPLY_ADD.findall(instruction))


def loads_left(instruction):
    """How many loads may be under way after this wait; None of what is no wait for loads."""
    counter = re.search(r"vmcnt\((\d+)\)", instruction)
    if counter:
        return int(counter[1])
    wait = re.match(r"s_wait_loadcnt(_dscnt)?\s+(0x[0-9a-f]+|\d+)", instruction)
    return None if not wait else int(wait[2], 0) >> (8 if wait[1] else 0)


def parse(text):
    """(instructions, {first: last} of each loop by position)."""
    instructions, labels = [], {}
    for line in text.splitlines():
        label = re.match(r"\s*(BB\d+):", line)
        if label:
            labels[label[1]] = len(instructions)
            continue
        line = re.sub(r"[;#].*|//.*", "", line).strip()
        if line and not line.endswith(":") and not line.startswith("/*"):
            instructions.append(line)
    loops = {}
    for i, instruction in enumerate(instructions):
        branch = re.match(r"s_c?branch\S*\s+(BB\d+)", instruction)
        first = labels.get(branch[1], i + 1) if branch else i + 1
        if first <= i:
            loops[first] = max(i, loops.get(first, i))
    return instructions, loops


def rounds_of(instructions, first, last):
    for instruction in reversed(instructions[first:last + 1]):
        limit = re.match(r"s_cmpk?_\w+\s+\S+,\s*(0x[0-9a-f]+|\d+)$", instruction)
        if limit:
            return int(limit[1], 0) if 1 < int(limit[1], 0) <= 64 else UNKNOWN_ROUNDS
    return UNKNOWN_ROUNDS


class Round:
    """One round of the outermost loop with the most multiply-adds; None of a kernel that has no such loop."""

    def __init__(self, instructions, loops, first, last):
        self.body = instructions[first:last + 1]
        self.times = [1] * len(self.body)  # how often each instruction runs in a round
        own = [True] * len(self.body)
        for a, b in loops.items():
            if first <= a and b <= last and (a, b) != (first, last):
                rounds = rounds_of(instructions, a, b)
                for i in range(a - first, b - first + 1):
                    self.times[i] *= rounds
                    own[i] = False
        self.own = [x for x, mine in zip(self.body, own) if mine]

    @staticmethod
    def of(text):
        instructions, loops = parse(text)
        outer = [(a, b) for a, b in loops.items()
                 if not any(x <= a and b <= y and (x, y) != (a, b) for x, y in loops.items())]
        work = {(a, b): sum(map(multiply_adds, instructions[a:b + 1])) for a, b in outer}
        if not work or max(work.values()) == 0:
            return None
        return Round(instructions, loops, *max(work, key=work.get))

    def total(self, count):
        return sum(times * count(x) for times, x in zip(self.times, self.body))

    def stalls(self):
        stalls = pending = 0
        for x in self.own:
            pending |= bool(LOAD.match(x))
            if loads_left(x) == 0 and pending:
                stalls, pending = stalls + 1, False
        return stalls

    def guards(self):
        return sum(x.startswith("s_cbranch_execz") and any(map(LOAD.match, self.own[i + 1:i + 5]))
                   for i, x in enumerate(self.own))

    def covers(self):
        """Of each load, in the order of their waits; loads that are waited for in the next round, too."""
        work = [times * multiply_adds(x) for times, x in zip(self.times, self.body)]
        done, under_way, covers = 0, [], []
        for second in (False, True):
            for x, gained in zip(self.body, work):
                if LOAD.match(x):
                    under_way.append((second, done))
                left = loads_left(x)
                while left is not None and len(under_way) > left:
                    of_second, start = under_way.pop(0)
                    if not of_second:
                        covers.append(done - start)
                done += gained
        return covers

    def cycles_of(self, chip, instruction):
        op = opcode(instruction)
        if not op.startswith("v_") or "nop" in op:
            return 0
        if MATRIX.match(op):
            return 32
        if chip.gcn:
            return 16 if SLOW.match(op) else 4
        return 8 if SLOW.match(op) else 1 if chip.full_rate_wave64 and ONE_CYCLE.match(op) else 2

    def share_of_peak(self, chip, lanes, groups, waves_per_simd):
        """An upper bound: what part of the vector cycles multiply and add, if waves hide the waits and LDS keeps up."""
        cycles = self.total(lambda x: self.cycles_of(chip, x))
        per_fma = 4 if chip.gcn else 1 if chip.full_rate_wave64 else 2
        useful = self.total(lambda x: 32 if MATRIX.match(x) else per_fma * multiply_adds(x))
        lds = self.total(lambda x: bytes_of(x) * 64 / 128 if LDS.match(x) else 0)  # 128 bytes a cycle
        waves = min(waves_per_simd, groups * -(-lanes // 64) / (chip.units * chip.simds))
        busy = min(1, waves * cycles / (cycles + self.stalls() * chip.latency))
        fed = min(1, cycles / (chip.simds * lds)) if lds else 1
        return min(1, useful / cycles * min(busy, fed))


def describe(text, target, lanes, groups, waves_per_simd):
    """The figures of a kernel's hot loop; empty where it has none or the text is not AMD's."""
    hot = Round.of(text)
    if not hot:
        return {}
    vector = hot.total(lambda x: x.startswith("v_") and not x.startswith("v_nop"))
    loads = [bytes_of(x) for x in hot.body if LOAD.match(x)]
    covers = hot.covers()
    figures = {
        "fma_share": hot.total(lambda x: multiply_adds(x) > 0) / max(1, vector),
        "guarded_loads": hot.guards(),
        "stalls": hot.stalls(),
        "share_of_peak": hot.share_of_peak(CHIPS[target], lanes, groups, waves_per_simd or 1),
    }
    if loads:
        figures["bytes_per_load"] = sum(loads) / len(loads)
    if covers:
        figures["cover"] = min(covers)
    return figures
