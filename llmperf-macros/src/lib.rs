#![doc = include_str!("../README.md")]

mod args;
mod expand;
mod shape;
mod signature;
mod sort;

use proc_macro::TokenStream;

use crate::{expand::From, sort::Sort};

/// Two entry points for each attribute: one for its part, and one that the facade gives under the plain name.
macro_rules! attributes {
    ($($(#[$documented:meta])* $sort:ident, $name:ident, $of_facade:ident;)*) => {$(
        $(#[$documented])*
        #[proc_macro_attribute]
        pub fn $name(args: TokenStream, item: TokenStream) -> TokenStream {
            expand::expand(Sort::$sort, From::Part, args.into(), &item.into()).into()
        }

        $(#[$documented])*
        #[proc_macro_attribute]
        pub fn $of_facade(args: TokenStream, item: TokenStream) -> TokenStream {
            expand::expand(Sort::$sort, From::Facade, args.into(), &item.into()).into()
        }
    )*};
}

attributes! {
    #[doc = include_str!("../docs/retrieval.md")]
    Retrieval, retrieval, __facade_retrieval;
    #[doc = include_str!("../docs/rerank.md")]
    Rerank, rerank, __facade_rerank;
    #[doc = include_str!("../docs/embedding.md")]
    Embedding, embedding, __facade_embedding;
    #[doc = include_str!("../docs/generation.md")]
    Generation, generation, __facade_generation;
    #[doc = include_str!("../docs/pipeline.md")]
    Pipeline, pipeline, __facade_pipeline;
    #[doc = include_str!("../docs/agent.md")]
    Agent, agent, __facade_agent;
    #[doc = include_str!("../docs/step.md")]
    Step, step, __facade_step;
    #[doc = include_str!("../docs/tool.md")]
    Tool, tool, __facade_tool;
    #[doc = include_str!("../docs/workflow.md")]
    Workflow, workflow, __facade_workflow;
}
