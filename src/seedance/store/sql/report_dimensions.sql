-- What each dimension is, as an expression over a row of `entities`; `/*KEY*/` is a parameter.
-- `place_…` holds for every kind of row: a node's idle has a node. `owner_…` holds only for what
-- runs; rows of idle, system and unattributed stand under their special key there.
-- name: place_cluster
toString(cluster)

-- name: place_node
node

-- name: place_instanceType
toString(instance_type)

-- name: place_zone
toString(zone)

-- name: place_capacityType
toString(capacity_type)

-- name: place_kind
toString(kind)

-- name: owner_namespace
toString(namespace)

-- name: owner_workload
workload

-- name: owner_workloadKind
toString(workload_kind)

-- OpenCost's four: what other kinds own stands under `__unallocated__`.
-- name: owner_deployment
if(workload_kind = 'Deployment', workload, '')

-- name: owner_statefulset
if(workload_kind = 'StatefulSet', workload, '')

-- name: owner_daemonset
if(workload_kind = 'DaemonSet', workload, '')

-- name: owner_job
if(workload_kind = 'Job', workload, '')

-- name: owner_pod
pod

-- name: owner_container
toString(container)

-- name: owner_domain
toString(domain)

-- name: owner_environment
toString(environment)

-- name: owner_team
toString(team)

-- name: owner_label
labels[/*KEY*/]

-- name: owner_annotation
annotations[/*KEY*/]

-- Why a value is not there, for the dimensions that know.
-- name: reason_domain
toString(domain_origin)

-- name: reason_environment
toString(environment_origin)

-- name: reason_team
toString(team_origin)

-- name: reason_label
'no-key'

-- name: reason_annotation
'no-key'
