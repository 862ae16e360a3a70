//! Queries that several machines run.
//!
//! The coordinator plans a query and divides the pieces of each table among the workers; the workers read files, and exchange what joins and
//! groups need, by gRPC. The library `datafusion-distributed` does the exchange. It has no copies of what a worker has computed, so a query
//! fails if a worker is lost, and can then be run again with the others.

use std::sync::Arc;
use std::time::Duration;

use datafusion::error::{DataFusionError, Result};
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_distributed::{
    DesiredTaskCountEvent, DesiredTaskCountEventResponse, DistributedExt, DistributedLeafExec,
    ScaleUpLeafNodeEvent, ScaleUpLeafNodeEventResponse, SessionStateBuilderExt, Worker,
    WorkerPlanRewriteEvent, WorkerPlanRewriteEventResponse, WorkerQueryContext, WorkerResolver,
};
use tokio::net::{TcpListener, TcpStream};
use tokio_stream::wrappers::TcpListenerStream;
use url::Url;

use crate::codec::FileCodec;
use crate::error::{external, usage};
use crate::factory::with_formats;
use crate::scan::FileScan;

/// The time in which a worker has to accept a connection.
const PATIENCE: Duration = Duration::from_secs(3);

/// The machines that run parts of queries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workers(Vec<Url>);

impl Workers {
    /// Uses workers by their addresses: `HOST:PORT`, or a URL of `http`.
    ///
    /// # Errors
    ///
    /// If an address is not one.
    pub fn new(addresses: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Self> {
        let url = |address: &str| {
            let full = if address.contains("://") { address.to_owned() } else { format!("http://{address}") };
            let url = Url::parse(&full).ok().filter(|url| url.host_str().is_some() && url.port().is_some());
            url.ok_or_else(|| usage("workers", format!("include {address}, which is not HOST:PORT")))
        };
        Ok(Self(addresses.into_iter().map(|address| url(address.as_ref())).collect::<Result<_>>()?))
    }

    /// Returns how many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns those that accept connections.
    pub async fn alive(&self) -> Self {
        let probes = self.0.iter().map(|url| async move {
            let (Some(host), Some(port)) = (url.host_str(), url.port()) else { return None };
            let host = host.trim_matches(['[', ']']);
            match tokio::time::timeout(PATIENCE, TcpStream::connect((host, port))).await {
                Ok(Ok(_)) => Some(url.clone()),
                _ => None,
            }
        });
        Self(futures::future::join_all(probes).await.into_iter().flatten().collect())
    }
}

impl WorkerResolver for Workers {
    fn get_urls(&self) -> Result<Vec<Url>, DataFusionError> {
        Ok(self.0.clone())
    }
}

/// Returns a context whose queries are run by workers, or by this process if there are none. It knows how tables are
/// created with `STORED AS HDF5`.
pub fn context(workers: &Workers, config: SessionConfig) -> SessionContext {
    let builder = with_formats(SessionStateBuilder::new().with_default_features().with_config(config));
    if workers.0.is_empty() {
        return SessionContext::from(builder.build());
    }
    let state = builder
        .with_distributed_worker_resolver(workers.clone())
        .with_distributed_planner()
        .with_distributed_user_codec(FileCodec::default())
        .with_distributed_desired_task_count_handler(desired)
        .with_distributed_scale_up_leaf_node_handler(divided)
        .build();
    SessionContext::from(state)
}

/// As many workers read a table as there are pieces.
fn desired(event: DesiredTaskCountEvent<'_>) -> Option<Result<DesiredTaskCountEventResponse>> {
    let scan = event.plan.downcast_ref::<FileScan>()?;
    Some(Ok(DesiredTaskCountEventResponse::desired(scan.pieces().max(1))))
}

/// Gives each worker its pieces.
fn divided(event: ScaleUpLeafNodeEvent<'_>) -> Option<Result<ScaleUpLeafNodeEventResponse>> {
    let scan = event.plan.downcast_ref::<FileScan>()?;
    let parts = scan.divided(event.task_count, event.session_config.target_partitions());
    let parts = parts.into_iter().map(|part| Arc::new(part) as Arc<dyn ExecutionPlan>);
    let leaf = DistributedLeafExec::try_new(Arc::clone(event.plan), parts);
    Some(leaf.map(|leaf| ScaleUpLeafNodeEventResponse::new(Arc::new(leaf))))
}

/// What a worker was asked to read: called with each plan that arrives.
pub type Watch = Arc<dyn Fn(&FileScan) + Send + Sync>;

/// Runs parts of queries until `until` is complete.
///
/// # Errors
///
/// If the connection cannot be served.
pub async fn serve(
    listener: TcpListener,
    codec: FileCodec,
    runtime: Arc<RuntimeEnv>,
    watch: Option<Watch>,
    until: impl Future<Output = ()>,
) -> Result<()> {
    let build = move |context: WorkerQueryContext| {
        let (codec, watch) = (codec.clone(), watch.clone());
        async move { Ok::<SessionState, DataFusionError>(session(context.builder, codec, watch)) }
    };
    let worker = Worker::from_session_builder(build).with_runtime_env(runtime);
    tonic::transport::Server::builder()
        .add_service(worker.into_worker_server())
        .serve_with_incoming_shutdown(TcpListenerStream::new(listener), until)
        .await
        .map_err(external)
}

fn session(builder: SessionStateBuilder, codec: FileCodec, watch: Option<Watch>) -> SessionState {
    let builder = builder.with_distributed_user_codec(codec);
    let Some(watch) = watch else { return builder.build() };
    let tell = move |event: WorkerPlanRewriteEvent<'_>| {
        each_scan(&event.plan, watch.as_ref());
        Ok(WorkerPlanRewriteEventResponse { plan: event.plan })
    };
    builder.with_distributed_worker_plan_rewrite_handler(tell).build()
}

/// Calls a function with each scan of files in a plan.
pub(crate) fn each_scan(plan: &Arc<dyn ExecutionPlan>, call: &dyn Fn(&FileScan)) {
    if let Some(scan) = plan.downcast_ref::<FileScan>() {
        call(scan);
    }
    for child in plan.children() {
        each_scan(child, call);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_workers() {
        let workers = Workers::new(["127.0.0.1:50051", "http://[::1]:7"]).unwrap();
        assert_eq!(workers.count(), 2);
        assert_eq!(workers.get_urls().unwrap()[0].as_str(), "http://127.0.0.1:50051/");
        for wrong in ["host", "", "http://host", ":5"] {
            assert!(Workers::new([wrong]).is_err(), "{wrong}");
        }
    }

    #[tokio::test]
    async fn workers_that_are_gone_are_left_out() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let here = listener.local_addr().unwrap();
        let gone = {
            let other = TcpListener::bind("127.0.0.1:0").await.unwrap();
            other.local_addr().unwrap()
        };
        let workers = Workers::new([here.to_string(), gone.to_string()]).unwrap();
        assert_eq!(workers.alive().await, Workers::new([here.to_string()]).unwrap());
    }
}
