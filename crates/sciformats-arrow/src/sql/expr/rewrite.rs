//! Looks into expressions and replaces their parts.

use super::Ex;

impl Ex {
    /// Replaces every part that is one of some outputs by the column with its place; returns whether nothing but outputs and
    /// literals is left.
    pub(in crate::sql) fn replace(&mut self, outputs: &[Self]) -> bool {
        if let Some(at) = outputs.iter().position(|output| output == self) {
            *self = Self::Column(at);
            return true;
        }
        match self {
            Self::Column(_) => false,
            Self::Literal(_) => true,
            Self::Compare(_, left, right)
            | Self::Same(left, right, _)
            | Self::Math(_, left, right)
            | Self::Join(left, right)
            | Self::And(left, right)
            | Self::Or(left, right) => left.replace(outputs) && right.replace(outputs),
            Self::Negative(of)
            | Self::Field(of, _)
            | Self::Not(of)
            | Self::IsNull(of, _)
            | Self::IsTruth(of, ..)
            | Self::Cast(of, ..) => of.replace(outputs),
            Self::In(of, list, _) => of.replace(outputs) && list.iter_mut().all(|item| item.replace(outputs)),
            Self::Like { of, pattern, .. } => of.replace(outputs) && pattern.replace(outputs),
            Self::Case { when, otherwise } => {
                let mut arms = when.iter_mut();
                arms.all(|(condition, result)| condition.replace(outputs) && result.replace(outputs))
                    && otherwise.replace(outputs)
            }
            Self::Call(_, of) | Self::Coalesce(of) => of.iter_mut().all(|of| of.replace(outputs)),
        }
    }

    /// Calls `visit` with the place of each column.
    pub(in crate::sql) fn columns(&mut self, visit: &mut dyn FnMut(&mut usize)) {
        match self {
            Self::Column(at) => visit(at),
            Self::Literal(_) => {}
            Self::Compare(_, left, right)
            | Self::Same(left, right, _)
            | Self::Math(_, left, right)
            | Self::Join(left, right)
            | Self::And(left, right)
            | Self::Or(left, right) => {
                left.columns(visit);
                right.columns(visit);
            }
            Self::Negative(of)
            | Self::Field(of, _)
            | Self::Not(of)
            | Self::IsNull(of, _)
            | Self::IsTruth(of, ..)
            | Self::Cast(of, ..) => of.columns(visit),
            Self::In(of, list, _) => {
                of.columns(visit);
                list.iter_mut().for_each(|item| item.columns(visit));
            }
            Self::Like { of, pattern, .. } => {
                of.columns(visit);
                pattern.columns(visit);
            }
            Self::Case { when, otherwise } => {
                for (condition, result) in when {
                    condition.columns(visit);
                    result.columns(visit);
                }
                otherwise.columns(visit);
            }
            Self::Call(_, of) | Self::Coalesce(of) => of.iter_mut().for_each(|of| of.columns(visit)),
        }
    }

    /// Returns the conditions that all have to be true.
    pub(in crate::sql) fn conditions(self) -> Vec<Self> {
        match self {
            Self::And(left, right) => {
                let mut all = left.conditions();
                all.extend(right.conditions());
                all
            }
            other => vec![other],
        }
    }
}
