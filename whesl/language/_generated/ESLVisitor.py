from antlr4 import *
if "." in __name__:
    from .ESLParser import ESLParser
else:
    from ESLParser import ESLParser

# This class defines a complete generic visitor for a parse tree produced by ESLParser.

class ESLVisitor(ParseTreeVisitor):

    # Visit a parse tree produced by ESLParser#specification.
    def visitSpecification(self, ctx:ESLParser.SpecificationContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#line.
    def visitLine(self, ctx:ESLParser.LineContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#statement.
    def visitStatement(self, ctx:ESLParser.StatementContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#entities.
    def visitEntities(self, ctx:ESLParser.EntitiesContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#levels.
    def visitLevels(self, ctx:ESLParser.LevelsContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#offers.
    def visitOffers(self, ctx:ESLParser.OffersContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#declared.
    def visitDeclared(self, ctx:ESLParser.DeclaredContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#coupled.
    def visitCoupled(self, ctx:ESLParser.CoupledContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#detected.
    def visitDetected(self, ctx:ESLParser.DetectedContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#recovered.
    def visitRecovered(self, ctx:ESLParser.RecoveredContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#entity.
    def visitEntity(self, ctx:ESLParser.EntityContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#level.
    def visitLevel(self, ctx:ESLParser.LevelContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#resource.
    def visitResource(self, ctx:ESLParser.ResourceContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#operation.
    def visitOperation(self, ctx:ESLParser.OperationContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#exceptionName.
    def visitExceptionName(self, ctx:ESLParser.ExceptionNameContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#offer.
    def visitOffer(self, ctx:ESLParser.OfferContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#job.
    def visitJob(self, ctx:ESLParser.JobContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#word.
    def visitWord(self, ctx:ESLParser.WordContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#limit.
    def visitLimit(self, ctx:ESLParser.LimitContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#backoff.
    def visitBackoff(self, ctx:ESLParser.BackoffContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#otherwise.
    def visitOtherwise(self, ctx:ESLParser.OtherwiseContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#raise.
    def visitRaise(self, ctx:ESLParser.RaiseContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#hang.
    def visitHang(self, ctx:ESLParser.HangContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#log.
    def visitLog(self, ctx:ESLParser.LogContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#multiple.
    def visitMultiple(self, ctx:ESLParser.MultipleContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#anyOf.
    def visitAnyOf(self, ctx:ESLParser.AnyOfContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#silence.
    def visitSilence(self, ctx:ESLParser.SilenceContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#progress.
    def visitProgress(self, ctx:ESLParser.ProgressContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#exit.
    def visitExit(self, ctx:ESLParser.ExitContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#cause.
    def visitCause(self, ctx:ESLParser.CauseContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#promised.
    def visitPromised(self, ctx:ESLParser.PromisedContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#success.
    def visitSuccess(self, ctx:ESLParser.SuccessContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#node.
    def visitNode(self, ctx:ESLParser.NodeContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#disk.
    def visitDisk(self, ctx:ESLParser.DiskContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#counted.
    def visitCounted(self, ctx:ESLParser.CountedContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#jobException.
    def visitJobException(self, ctx:ESLParser.JobExceptionContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#external.
    def visitExternal(self, ctx:ESLParser.ExternalContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#predicted.
    def visitPredicted(self, ctx:ESLParser.PredictedContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#pattern.
    def visitPattern(self, ctx:ESLParser.PatternContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#patterns.
    def visitPatterns(self, ctx:ESLParser.PatternsContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#listed.
    def visitListed(self, ctx:ESLParser.ListedContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#source.
    def visitSource(self, ctx:ESLParser.SourceContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#recurring.
    def visitRecurring(self, ctx:ESLParser.RecurringContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#within.
    def visitWithin(self, ctx:ESLParser.WithinContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#timer.
    def visitTimer(self, ctx:ESLParser.TimerContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#codes.
    def visitCodes(self, ctx:ESLParser.CodesContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#code.
    def visitCode(self, ctx:ESLParser.CodeContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#causeClass.
    def visitCauseClass(self, ctx:ESLParser.CauseClassContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#severity.
    def visitSeverity(self, ctx:ESLParser.SeverityContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#signal.
    def visitSignal(self, ctx:ESLParser.SignalContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#count.
    def visitCount(self, ctx:ESLParser.CountContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#seconds.
    def visitSeconds(self, ctx:ESLParser.SecondsContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#percent.
    def visitPercent(self, ctx:ESLParser.PercentContext):
        return self.visitChildren(ctx)


    # Visit a parse tree produced by ESLParser#confidence.
    def visitConfidence(self, ctx:ESLParser.ConfidenceContext):
        return self.visitChildren(ctx)



del ESLParser