// Before the first paint: pages know that scripts run, so that parts for either case show at once.
document.documentElement.classList.add("js");
