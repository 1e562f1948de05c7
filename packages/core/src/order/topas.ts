import type { SearchOrder } from "../policy/policy.ts";
import { createGains } from "../score/admit.ts";
import { searchSets } from "../search/candidates.ts";
import { sortedByTask } from "./compare.ts";

/** The joint search over prefix sets and requests (Eq. 13, 14); outside the search requests go in task order. */
export const topas: SearchOrder = {
  kind: "search",
  id: "topas",
  sort: (view, queue) => sortedByTask(view, queue),
  search: searchSets,
  credits(view, policy, admitted) {
    const gains = createGains(view, policy.options);
    const completed = new Map<string, Set<string>>();
    return admitted.map((request) => {
      const { task, stage } = request.spec;
      const done = completed.get(task);
      const gain = gains.credit(gains.ageOf(gains.weight(request).arrival)) * gains.base(request, done);
      if (done === undefined) completed.set(task, new Set([stage]));
      else done.add(stage);
      return gain;
    });
  },
};
